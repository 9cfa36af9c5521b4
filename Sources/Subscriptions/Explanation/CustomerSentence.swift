import Base

extension EntitlementExplanation {
    /// Why and until when the customer has it, in words for them: no ids, no terms of the store.
    package var customerSentence: String {
        switch because {
        case .given(let grant):
            guard let until else { return "You have \(name) without an end: \(reason(grant))." }
            let day = EntitlementExplanation.day(until)
            switch renews {
            case true?: return "You have \(name): \(reason(grant)). It renews on \(day)."
            case false?: return "You have \(name) until \(day): \(reason(grant)). It does not renew."
            case nil: return "You have \(name) until \(day): \(reason(grant))."
            }
        case .ended(let cause):
            let end = until.map { " since \(EntitlementExplanation.day($0))" } ?? ""
            return "You do not have \(name) any more\(end): \(cause.customerSentence)."
        case .sandboxDoesNotCount: return "You do not have \(name): it was bought in a test of the app only."
        case .neverBought: return "You do not have \(name): we know of no purchase of yours that includes it."
        }
    }

    private func reason(_ grant: Grant) -> String {
        isSandbox && grant != .granted ? "it was bought in a test of the app" : grant.customerSentence
    }

    private static let months = [
        "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
        "December",
    ]

    /// `4 December 2026, 10:11 UTC`
    private static func day(_ instant: Int64) -> String {
        let text = Timestamp.text(instant)
        let parts = text.prefix(10).split(separator: "-").map { Int($0) ?? 0 }
        guard parts.count == 3, months.indices.contains(parts[1] - 1) else { return text }
        return "\(parts[2]) \(months[parts[1] - 1]) \(parts[0]), \(text.dropFirst(11).prefix(5)) UTC"
    }
}

extension EntitlementExplanation.Grant {
    fileprivate var customerSentence: String {
        switch self {
        case .paid: "it is paid for"
        case .trial: "it is your free trial"
        case .introductory: "you paid an introductory price"
        case .grace: "the last payment failed, and you keep it while the App Store tries again"
        case .familyShare: "a member of your family shares it with you"
        case .once: "you bought it once"
        case .granted: "we gave it to you"
        }
    }
}

extension EndCause {
    fileprivate var customerSentence: String {
        switch self {
        case .switchedOff: "renewal was switched off"
        case .billingFailed: "the renewal could not be charged"
        case .priceIncrease: "the higher price was not agreed to"
        case .notForSale: "it is not sold any more"
        case .refunded: "the purchase was refunded"
        case .familyShareTaken: "it is no longer shared with you"
        case .grantRevoked: "what we gave you was taken back"
        case .grantEnded: "we gave it to you for that long"
        case .productChanged: "you changed to another product"
        case .migrated: "the subscription goes on as another one"
        case .ranOut: "you bought it for that long"
        case .unreadable, .notRenewed: "it was not renewed"
        }
    }
}
