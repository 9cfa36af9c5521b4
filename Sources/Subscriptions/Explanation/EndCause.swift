/// Why access by a product ended, or will end.
package enum EndCause: String, Sendable, CaseIterable {
    case switchedOff = "switched_off"
    case billingFailed = "billing_failed"
    case priceIncrease = "price_increase"
    case notForSale = "not_for_sale"
    case refunded
    case familyShareTaken = "family_share_taken"
    case grantRevoked = "grant_revoked"
    case grantEnded = "grant_ended"
    /// Another product of the same subscription took its place.
    case productChanged = "product_changed"
    /// Apple migrated it: it goes on under another original transaction id.
    case migrated
    /// It was bought for a time.
    case ranOut = "ran_out"
    /// Apple signed no end that can be read.
    case unreadable
    /// No reason was signed.
    case notRenewed = "not_renewed"

    package var sentence: String {
        switch self {
        case .switchedOff: "the customer had switched renewal off"
        case .billingFailed: "the renewal could not be charged"
        case .priceIncrease: "the customer did not agree to a higher price"
        case .notForSale: "the product was not for sale any more"
        case .refunded: "it was refunded"
        case .familyShareTaken: "it is no longer shared with the family"
        case .grantRevoked: "the grant was revoked"
        case .grantEnded: "it was granted for that long"
        case .productChanged: "the customer changed to another product"
        case .migrated: "it goes on under another original transaction id"
        case .ranOut: "it was bought for that long"
        case .unreadable: "Apple signed no end that can be read"
        case .notRenewed: "no renewal came"
        }
    }
}

extension EndCause {
    init(_ revocation: Period.Revocation) {
        switch revocation.kind {
        case .refund: self = .refunded
        case .family: self = .familyShareTaken
        case .grant: self = .grantRevoked
        }
    }
}

extension Purchase {
    /// Why its latest period ended, or will end.
    package var endCause: EndCause {
        if let revocation = latest.revocation, wasCutShort {
            return EndCause(revocation)
        }
        if latest.transaction.grant != nil { return .grantEnded }
        if latest.transaction.lacksEnd { return .unreadable }
        switch expirationIntent {
        case 1: return .switchedOff
        case 2: return .billingFailed
        case 3: return .priceIncrease
        case 4: return .notForSale
        default: break
        }
        if billingFailure != nil { return .billingFailed }
        if cancelledSince != nil { return .switchedOff }
        return isRenewable ? .notRenewed : .ranOut
    }

    /// When that was signed, or took effect, in ms; nil where no instant tells.
    package var endCauseDate: Int64? {
        switch endCause {
        case .refunded, .familyShareTaken, .grantRevoked: latest.revocation?.date
        case .billingFailed: billingFailure?.since
        case .switchedOff: cancelledSince
        default: nil
        }
    }
}
