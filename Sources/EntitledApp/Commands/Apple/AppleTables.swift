import AppStore
import AppStoreAPI
import Base
import CLI

/// What Apple answered, for people and for machines.
enum AppleTables {
    static func transactions(_ items: [SignedItem<TransactionPayload>]) -> TextTable {
        var table = TextTable(["bought", "product", "type", "until", "price", "refunded", "transaction"])
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
        var table = TextTable(["status", "product", "until", "then", "original transaction", "app account token"])
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
        let thousandths = "\(price % 1000)"
        let padded = String(repeating: "0", count: 3 - thousandths.count) + thousandths
        let fraction = padded.hasSuffix("0") ? String(padded.dropLast()) : padded
        return "\(price / 1000).\(fraction) \(payload.currency ?? "")"
    }

    private static func revocation(_ payload: TransactionPayload) -> String {
        guard let revoked = payload.revocationDate else { return "" }
        return payload.revocationType == "FAMILY_REVOKE"
            ? "\(date(revoked)) (no longer shared)" : date(revoked)
    }
}
