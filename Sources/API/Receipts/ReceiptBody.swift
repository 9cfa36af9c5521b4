import Base
import Subscriptions

/// The body of `POST /v1/receipts`, as far as it is used; what is not known is no matter.
///
/// What names the customer and the purchase has to be right. Everything else is no reason to refuse: an app finishes a
/// transaction that is refused, and a price of the wrong type is not worth a purchase.
struct ReceiptBody {
    let appUserID: String
    /// A receipt in base64, or a signed transaction.
    let fetchToken: String?
    /// A signed app transaction.
    let appTransaction: String?
    let attributes: JSON?
    private let body: JSON

    /// - Throws: `APIError`, 400.
    init(_ body: JSON) throws {
        self.body = body
        appUserID = try APICall.appUserID(body.text("app_user_id"))
        fetchToken = try body.optionalText("fetch_token").flatMap { $0.isEmpty ? nil : $0 }
        appTransaction = try body.optionalText("app_transaction").flatMap { $0.isEmpty ? nil : $0 }
        attributes = body["attributes"].flatMap { $0.members == nil ? nil : $0 }
        guard fetchToken != nil || appTransaction != nil else { throw APIError.badRequest("fetch_token is missing.") }
    }

    /// Why the app posts it. Apps that do not say `initiation_source` say `is_restore`; what says neither is a purchase.
    var source: PurchasePost.Source {
        switch body["initiation_source"]?.stringValue {
        case "restore": .restore
        case "purchase": .purchase
        // Android's word for what it found in its queue.
        case "queue", "unsynced_active_purchases": .queue
        default: body["is_restore"] == .bool(true) ? .restore : .purchase
        }
    }

    /// Whether it is about this transaction, as far as it says.
    func isAbout(_ transaction: TransactionFact) -> Bool {
        let (id, product) = (short("transaction_id"), short("product_id"))
        return (id == nil || id == transaction.transactionID) && (product == nil || product == transaction.productID)
    }

    /// What is to be kept of a transaction beside what Apple signed; its time is set later.
    func context(of transaction: TransactionFact) -> TransactionContext? {
        guard isAbout(transaction) else { return nil }
        var context = TransactionContext(transactionID: transaction.transactionID, at: 0)
        if transaction.price == nil, let price = ReceiptBody.milliunits(body["price"]), let currency {
            (context.price, context.currency) = (price, currency)
        }
        context.offering = short("presented_offering_identifier")
        context.placement = short("presented_placement_identifier")
        let rule = body["applied_targeting_rule"]
        context.targetingRevision = rule?["revision"]?.intValue
        context.targetingRule = rule?["rule_id"]?.stringValue.flatMap(ReceiptBody.short)
        return context.isEmpty ? nil : context
    }

    private var currency: String? {
        guard let text = body["currency"]?.stringValue, text.utf8.count == 3,
            text.utf8.allSatisfy({ (0x41...0x5a).contains($0 & 0xdf) })
        else { return nil }
        return text.uppercased()
    }

    private func short(_ name: String) -> String? { body[name]?.stringValue.flatMap(ReceiptBody.short) }

    private static func short(_ text: String) -> String? {
        text.isEmpty || text.utf8.count > 255 || text.contains("\0") ? nil : text
    }

    /// A price as SDKs (a text) or backends (a number) write it; nil for what is none.
    static func milliunits(_ value: JSON?) -> Int64? {
        let amount: Double? =
            switch value {
            case .int(let whole): Double(whole)
            case .double(let number): number
            case .string(let text): Double(text)
            default: nil
            }
        guard let amount, amount.isFinite, amount > 0, amount < 1e12 else { return nil }
        return Int64((amount * 1000).rounded())
    }
}
