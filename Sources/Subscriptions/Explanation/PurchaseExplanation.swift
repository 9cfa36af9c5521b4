import Base

/// What a person has to know of one purchase: a title, and facts with their names.
package struct PurchaseExplanation: Sendable, Equatable {
    package struct Line: Sendable, Equatable {
        package let label: String
        package let text: String
    }

    package let title: String
    package let lines: [Line]

    /// Of what runs for a time; what was bought once is a line of its own, see `OneTimePurchase`.
    ///
    /// - Parameter successor: the purchase that it goes on as.
    package init(_ purchase: Purchase, successor: Purchase? = nil, now: Int64) {
        title = purchase.latest.productID
        let key = purchase.key
        let place = "\(key.app), \(key.environment.rawValue)"
        let texts: KeyValuePairs<String, String?> = [
            "status": successor?.successionSentence ?? purchase.statusSentence(at: now),
            "renews": successor == nil ? purchase.renewalSentence(at: now) : nil,
            "then": purchase.pendingProductID.map { "\($0) from the next renewal on" },
            "commitment": purchase.commitmentSentence,
            "continues": purchase.continuation.map {
                "original transaction \($0.of), since \(DisplayText.time($0.since))"
            },
            "grace": purchase.graceSentence, "period": purchase.latest.sentence,
            "price": key.isGrant ? nil : DisplayText.amount(of: purchase.latest),
            "offer": purchase.latest.transaction.offerSentence,
            "ownership": purchase.isFamilyShare ? "shared by a family member" : nil,
            "consent": purchase.priceIncreaseStatus == 0 ? "asked to agree to a higher price, not answered" : nil,
            "original transaction": key.originalTransactionID,
            "app": key.isGrant ? nil : key.environment == .sandbox ? "\(place): NO REAL MONEY" : place,
        ]
        lines = texts.compactMap { label, text in text.map { Line(label: label, text: $0) } }
    }
}

extension Purchase {
    /// Of the purchase that goes on as this one.
    fileprivate var successionSentence: String {
        "goes on\(continuation.map { " since \(DisplayText.time($0.since))" } ?? "") as \(latest.productID), original transaction"
            + " \(key.originalTransactionID)"
    }

    fileprivate var commitmentSentence: String? {
        guard let commitment else { return nil }
        let total = commitment.billingPeriods.map { " of \($0)" } ?? ""
        let price = commitment.price.map { amount in
            "\(Money.number(milliunits: amount).text)\(latest.transaction.currency.map { " \($0)" } ?? "") in all"
        }
        let parts = [
            commitment.billingPeriod.map { "period \($0)\(total)" }, price,
            commitment.until.map { "until \(DisplayText.time($0))" },
            commitment.renewal.offSince.map { "then over: switched off \(DisplayText.time($0))" }
                ?? commitment.nextProductID.map { $0 == latest.productID ? "then renewed" : "then \($0)" },
        ]
        let text = parts.compactMap(\.self).joined(separator: ", ")
        return text.isEmpty ? "paid by the month" : text
    }

    fileprivate func statusSentence(at now: Int64) -> String {
        let end = accessUntil.map(DisplayText.time)
        switch status(at: now) {
        case .active: return "active \(DisplayText.until(accessUntil))"
        case .grace: return "in grace \(DisplayText.until(accessUntil)): unpaid, access goes on"
        case .billingRetry: return "no access since \(end ?? "ever"): unpaid, Apple keeps trying to charge"
        case .expired: return "expired \(end ?? ""): \(endCause.sentence)"
        case .revoked:
            let verb =
                switch latest.revocation?.kind {
                case .family: "no longer shared"
                case .grant: "revoked"
                case .refund, nil: "refunded"
                }
            let date = "\(verb) as of \(latest.revocation.map { DisplayText.time($0.date) } ?? "")"
            return wasCutShort ? date : "expired \(end ?? ""), \(date)"
        }
    }

    fileprivate func renewalSentence(at now: Int64) -> String? {
        let retries = retryEndsAt.map { now < $0 } ?? false ? "Apple keeps trying" : "Apple stopped trying"
        switch renewalObstacle {
        case nil:
            let isDue = paidAccessUntil.map { $0 <= now } ?? false
            return isDue
                ? "should have; nothing has been heard of it yet" : paidAccessUntil.map(DisplayText.time) ?? "yes"
        case .notRenewable: return nil
        case .revoked: return "no: taken back"
        case .billingError:
            return
                "no: could not be charged since \(billingFailure.map { DisplayText.time($0.since) } ?? "?"); \(retries)"
        case .priceIncrease: return "no: the higher price was not agreed to"
        case .switchedOff: return "no: switched off \(autoRenewOffSince.map(DisplayText.time) ?? "")"
        case .ended: return "no: \(endCause.sentence)"
        }
    }

    fileprivate var graceSentence: String? {
        let assumed =
            billingFailure?.isGraceAssumed == true
            ? "; Apple gave no end, this is the configured default_grace_period" : ""
        return graceUntil.map { "until \(DisplayText.time($0))\(assumed)" }
    }
}

extension Period {
    fileprivate var sentence: String {
        let end = transaction.expiresDate.map { " to \(DisplayText.time($0))" } ?? ""
        let kind = type.spoken.map { ", \($0)" } ?? ""
        return "number \(number)\(kind), \(DisplayText.time(transaction.purchaseDate))\(end)"
    }
}

extension TransactionFact {
    /// `winter: promotional, pay up front`.
    var offerSentence: String? {
        let kinds = [1: "introductory", 2: "promotional", 3: "offer code", 4: "win-back"]
        guard let offerType = self.offerType else { return nil }
        let kind = kinds[offerType] ?? "type \(offerType)"
        let terms =
            self.offerDiscountType.map { ", " + $0.lowercased().split(separator: "_").joined(separator: " ") } ?? ""
        return (self.offerIdentifier.map { "\($0): " } ?? "") + kind + terms
    }
}
