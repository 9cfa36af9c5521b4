extension PurchaseChange {
    /// As people read it.
    package var sentence: String {
        purchaseSentence ?? moneySentence ?? choiceSentence ?? stateSentence
    }

    private var purchaseSentence: String? {
        switch self {
        case .bought(let period): "bought \(period.spoken)"
        case .migrated(let former): "continues original transaction \(former)"
        case .renewed(let period): "renewed: \(period.spoken)"
        case .boughtAgain(let period): "bought again: \(period.spoken)"
        case .productChanged(let old, let period): "\(old) → \(period.spoken)"
        case .earlierPeriodKnown(let period): "an earlier period became known: \(period.id), \(period.spoken)"
        case .extended(_, let old, let new):
            "period \(old < new ? "extended" : "shortened"): \(DisplayText.time(old)) → \(DisplayText.time(new))"
        default: nil
        }
    }

    private var moneySentence: String? {
        switch self {
        case .refunded(let period, let date):
            "period \(period.id) refunded\(period.spokenRefund), as of \(DisplayText.time(date))"
        case .refundTakenBack(let period): "refund of period \(period.id) taken back"
        case .familyShareTaken(let date): "no longer shared with the family, as of \(DisplayText.time(date))"
        case .familyShareGivenBack: "shared with the family again"
        case .grantRevoked(let date): "grant revoked, as of \(DisplayText.time(date))"
        case .billingFailed(let isRetrying):
            isRetrying ? "could not be charged; Apple keeps trying" : "could not be charged"
        case .billingRecovered: "charged after all"
        case .retriesOver: "Apple stopped trying to charge"
        case .grace(let end, let isAssumed):
            "in grace until \(DisplayText.time(end))" + (isAssumed ? ", which is assumed: Apple gave no end" : "")
        case .refundDeclined: "Apple declined a refund"
        case .consumptionAsked(let reason, let end):
            "asked for a refund\(reason.map { " (\($0))" } ?? ""): Apple asks how it was used, until \(DisplayText.time(end))"
        default: nil
        }
    }

    private var choiceSentence: String? {
        switch self {
        case .autoRenewOff: "auto-renew off"
        case .autoRenewOn: "auto-renew on"
        case .commitmentOff(let end):
            "the commitment does not renew; its periods do\(end.map { " until \(DisplayText.time($0))" } ?? "")"
        case .commitmentOn: "the commitment renews"
        case .nextProduct(let product): "\(product) from the next renewal on"
        case .nextProductTakenBack(let product): "stays with \(product) at the next renewal"
        case .priceIncreaseAsked: "asked to agree to a higher price"
        case .priceIncreaseAccepted: "agreed to the higher price"
        case .owner(let id): "names \(id) as its owner"
        default: nil
        }
    }

    private var stateSentence: String {
        switch self {
        case .accessGiven(let end): "access \(DisplayText.until(end))"
        case .access(let old, let new): "access \(DisplayText.until(old)) → \(new.map(DisplayText.time) ?? "forever")"
        case .ended(let cause, let product, let date):
            "\(product) ended\(date.map { " \(DisplayText.time($0))" } ?? ""): \(cause.sentence)"
        case .endConfirmed: "Apple confirmed the end"
        case .nothing(.newerWasKnown): "nothing changed: something newer had been heard before"
        case .nothing(.noTransaction): "nothing yet: no transaction of this purchase is known"
        default: "nothing changed"
        }
    }
}

extension Period {
    /// `pro_monthly (free trial), 9.99 USD`.
    fileprivate var spoken: String { productID + terms.map { " (\($0))" }.orEmpty + price }

    private var terms: String? { type.spoken ?? transaction.offerSentence }

    fileprivate var spokenRefund: String { DisplayText.refund(of: self).map { " \($0)" }.orEmpty }

    private var price: String { DisplayText.price(of: self).map { ", \($0)" }.orEmpty }
}

extension PeriodType {
    /// Nil for a period at the usual terms.
    package var spoken: String? {
        switch self {
        case .trial: "free trial"
        case .introductory: "introductory price"
        case .normal: nil
        case .promotional: "granted"
        }
    }
}

extension String? {
    fileprivate var orEmpty: String { self ?? "" }
}
