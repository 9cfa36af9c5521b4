import Base
import Customers
import Subscriptions

/// Instants of the tests, in ms: 2026-11-01T00:00:00Z is day 0, a Sunday.
func day(_ number: Double) -> Int64 { 1_793_491_200_000 + Int64(number * 86_400_000) }

/// Facts of one purchase, as somebody's life brings them. What is signed later in a test is signed later.
struct Subscriber {
    let key: PurchaseKey
    private(set) var facts = PurchaseFacts()
    private var transactions: [TransactionFact] = []
    private var signed: Int64 = 0
    var currency: String? = "USD"
    var isFamily = false

    init(_ original: String = "1000", app: String = "demo", environment: StoreEnvironment = .production) {
        key = PurchaseKey(app: app, environment: environment, originalTransactionID: original)
    }

    var purchase: Purchase? { Purchase(folding: facts, key: key) }

    /// A period that is signed when it begins.
    ///
    /// - Parameter number: that of the first transaction is the original id's.
    mutating func period(
        _ from: Double, _ to: Double?, _ product: String = "monthly", price: Int64? = 10_000,
        renewal: Bool = false, discount: String? = nil, quantity: Int = 1, kind: String = "Auto-Renewable Subscription",
        isFirst: Bool? = nil, signed instant: Double? = nil
    ) {
        let isFirst = isFirst ?? transactions.isEmpty
        let id = isFirst ? key.originalTransactionID : "\(key.originalTransactionID)-\(transactions.count + 1)"
        transactions.append(
            TransactionFact(
                transactionID: id, originalTransactionID: key.originalTransactionID, productID: product,
                purchaseDate: day(from),
                originalPurchaseDate: transactions.first?.originalPurchaseDate ?? (isFirst ? day(from) : day(-400)),
                expiresDate: to.map(day), signedDate: 0, kind: kind,
                ownership: isFamily ? "FAMILY_SHARED" : "PURCHASED",
                reason: renewal ? "RENEWAL" : "PURCHASE", offerType: discount == nil ? nil : 1,
                offerDiscountType: discount, price: isFamily ? nil : price, currency: currency, quantity: quantity,
                tie: []))
        tell(transactions.count - 1, at: instant ?? from)
        guard to != nil else { return }
        say(at: instant ?? from) { $0.autoRenewStatus = 1 }
    }

    /// A version of a transaction, counted from 0.
    mutating func tell(_ place: Int, at instant: Double, _ change: (inout TransactionFact) -> Void = { _ in }) {
        change(&transactions[place])
        signed = max(signed + 1, day(instant))
        transactions[place].signedDate = signed
        facts.insert(transactions[place])
    }

    /// What is to come.
    mutating func say(at instant: Double, _ change: (inout RenewalFact) -> Void) {
        signed = max(signed, day(instant))
        var fact = RenewalFact(
            originalTransactionID: key.originalTransactionID, productID: transactions.last?.productID,
            autoRenewProductID: transactions.last?.productID, signedDate: signed, tie: [])
        change(&fact)
        facts.insert(fact)
    }

    /// What the app says a transaction cost.
    mutating func post(_ price: Int64, _ currency: String, of place: Int = 0) {
        let id = transactions[place].transactionID
        facts.insert(TransactionContext(transactionID: id, price: price, currency: currency, at: signed))
    }

    mutating func off(at instant: Double) { say(at: instant) { $0.autoRenewStatus = 0 } }

    mutating func expire(_ intent: Int, at instant: Double) {
        say(at: instant) { ($0.autoRenewStatus, $0.expirationIntent) = (0, intent) }
    }

    mutating func fail(graceUntil: Double? = nil, at instant: Double) {
        say(at: instant) {
            ($0.autoRenewStatus, $0.isInBillingRetryPeriod, $0.expirationIntent) = (1, true, 2)
            $0.gracePeriodExpiresDate = graceUntil.map(day)
        }
    }

    mutating func upgrade(_ from: Double, _ to: Double, _ product: String, price: Int64) {
        tell(transactions.count - 1, at: from) { $0.isUpgraded = true }
        period(from, to, product, price: price)
    }

    mutating func refund(
        _ place: Int = 0, at instant: Double, type: String? = "REFUND_FULL", percentage: Int? = nil
    ) {
        tell(place, at: instant) {
            ($0.revocationDate, $0.revocationType, $0.revocationPercentage) = (day(instant), type, percentage)
        }
    }

    mutating func reverse(_ place: Int = 0, at instant: Double) {
        tell(place, at: instant) {
            ($0.revocationDate, $0.revocationType, $0.revocationPercentage) = (nil, nil, nil)
        }
    }
}

extension Report {
    /// Of these, from day to day.
    static func of(
        _ subscribers: [Subscriber], _ from: Double = 0, _ to: Double = 30, by step: ReportCalendar.Step = .total
    ) throws -> Report {
        guard let calendar = ReportCalendar(from: day(from), to: day(to), by: step) else { throw NoTime() }
        var tally = ReportTally(calendar)
        for subscriber in subscribers {
            guard let purchase = subscriber.purchase else { continue }
            tally.add(purchase, subscriber.facts)
        }
        return Report(tally, ReportQuestion(app: nil, environment: .production, step: step))
    }

    private struct NoTime: Error {}
}

extension Report.Part {
    /// As in `new 1, active 1`: what is not 0, without money.
    var words: String {
        let counted = ReportCount.allCases.filter { ![.payments, .refunds].contains($0) }
            .map { ($0.rawValue, counts[$0] ?? 0) }
        let standing = ReportGauge.allCases.map { ($0.rawValue, gauges[$0] ?? 0) }
        return (counted + standing).filter { $0.1 != 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// As in `monthly USD 10 (1) - 5 (1), mrr 10`.
    var moneyWords: String {
        products.map { product, money in
            let back = money.refunds == 0 ? "" : " - \(Money.text(milliunits: money.refunded)) (\(money.refunds))"
            let monthly = money.monthly == 0 ? "" : ", mrr \(Money.text(milliunits: money.monthly))"
            return "\(product.productID) \(product.currency ?? "?") \(Money.text(milliunits: money.gross))"
                + " (\(money.payments))\(back)\(monthly)"
        }.joined(separator: "; ")
    }
}
