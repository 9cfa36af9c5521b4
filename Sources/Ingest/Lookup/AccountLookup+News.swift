import AppStore
import AppStoreAPI
import Base
import Database
import Postgres
import Subscriptions

extension AccountLookup.Found {
    /// Without entries for what is known: Apple signs anew whatever it is asked, and who asks again and again must not
    /// fill the log with it.
    ///
    /// - Parameter others: what comes into the log beside it.
    package func news(
        beside others: [TransactionAdmission.Admitted] = [], on connection: PostgresConnection
    ) throws -> AccountLookup.Found {
        let keys = Array(Set(transactions.map(\.key) + states.map(AccountLookup.Found.key(of:))))
        var known = Dictionary(uniqueKeysWithValues: zip(keys, try FactTable.load(keys, on: connection)))
        for other in others { if let fact = other.fact { known[other.key, default: PurchaseFacts()].insert(fact) } }
        var news = self
        news.transactions = transactions.map { item in
            var item = item
            if let fact = item.fact, known[item.key]?.says(fact) ?? false { item.entry = nil }
            return item
        }
        news.states = states.filter { item in
            known[AccountLookup.Found.key(of: item)].map { !$0.says(item.state) } ?? true
        }
        return news
    }

    private static func key(of item: (state: SubscriptionState, entry: NewNotification)) -> PurchaseKey {
        PurchaseKey(
            app: item.entry.identity.app, environment: item.entry.identity.environment,
            originalTransactionID: item.state.originalTransactionID)
    }
}

extension TransactionAdmission.Admitted {
    package var key: PurchaseKey {
        PurchaseKey(app: place.app, environment: place.environment, originalTransactionID: originalTransactionID)
    }

    /// Nil where it lacks what a transaction cannot do without.
    package var fact: TransactionFact? { TransactionFact(payload, tie: jws.payload) }
}

extension PurchaseFacts {
    fileprivate func says(_ state: SubscriptionState) -> Bool {
        guard let fact = TransactionFact(state.transaction.payload, tie: state.transaction.jws.payload) else {
            return false
        }
        return says(
            status: Int(clamping: state.status.rawValue), fact,
            state.renewal.flatMap { RenewalFact($0.payload, tie: $0.jws.payload) })
    }
}
