import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// What Apple answered, for people and for machines.
enum AppleTables {
    static func transactions(_ items: [SignedItem<TransactionPayload>]) -> TextTable {
        var table = TextTable([
            .time("bought"), "product", "type", .time("until"), .number("price"), .time("refunded"),
            .key("transaction"),
        ])
        for item in items {
            let payload = item.payload
            table.add([
                date(payload.purchaseDate), payload.productId ?? "", payload.type ?? "", date(payload.expiresDate),
                price(payload), revocation(payload), payload.transactionId ?? "",
            ])
        }
        return table
    }

    static func subscriptions(_ states: [SubscriptionState]) -> TextTable {
        var table = TextTable([
            "status", "product", .time("until"), "then", .key("original transaction"), .id("app account token"),
        ])
        for state in states {
            let payload = state.transaction.payload
            let until = state.renewal?.payload.gracePeriodExpiresDate ?? payload.expiresDate
            table.add([
                state.status.word, payload.productId ?? "", date(until), next(state.renewal?.payload),
                state.originalTransactionID, payload.appAccountToken ?? "",
            ])
        }
        return table
    }

    static func document(_ items: [SignedItem<TransactionPayload>]) -> JSON {
        .array(items.map { .raw($0.jws.payload) })
    }

    static func document(_ states: [SubscriptionState]) -> JSON {
        .array(
            states.map { state in
                .object([
                    "status": .string(state.status.word), "subscription_group_id": .text(state.group),
                    "original_transaction_id": .string(state.originalTransactionID),
                    "transaction": .raw(state.transaction.jws.payload),
                    "renewal": state.renewal.map { .raw($0.jws.payload) } ?? .null,
                ])
            })
    }

    static func document(_ attempts: [SendAttempt]) -> JSON {
        .array(
            attempts.map { attempt in
                .object([
                    "attempted_at": .date(attempt.date), "result": .text(attempt.result?.rawValue),
                    "meaning": .text(attempt.result?.meaning),
                ])
            })
    }

    static func date(_ milliseconds: Int64?) -> String { milliseconds.map(Timestamp.text) ?? "" }

    /// What becomes of a subscription when the period is over.
    private static func next(_ renewal: RenewalInfoPayload?) -> String {
        guard let renewal else { return "" }
        guard renewal.autoRenewStatus == 1 else { return "ends" }
        let product = renewal.autoRenewProductId ?? ""
        return product == renewal.productId ? "renews" : "renews as \(product)"
    }

    private static func price(_ payload: TransactionPayload) -> String {
        guard let price = payload.price, price >= 0 else { return "" }
        guard let currency = payload.currency else { return Money.text(milliunits: price) }
        return "\(Money.text(milliunits: price, currency: currency)) \(currency)"
    }

    private static func revocation(_ payload: TransactionPayload) -> String {
        guard let revoked = payload.revocationDate else { return "" }
        return payload.revocationType == "FAMILY_REVOKE"
            ? "\(date(revoked)) (no longer shared)" : date(revoked)
    }
}
