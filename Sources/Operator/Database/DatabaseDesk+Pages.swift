import Base
import Customers
import Database
import Postgres
import Subscriptions

/// What pages show beside the answers of the API, from the same snapshot.
extension DatabaseDesk {
    // MARK: - Outages

    /// When notifications could be stored last; nil: never. ms since 1970.
    package func lastListened() throws -> Int64? {
        try viewer.check(.outages)
        return try OverviewQuery.listened(on: connection).last
    }

    // MARK: - Refunds

    /// What was bought, for each question; nil where it is not known.
    package func periods(of rows: [RefundRow]) throws -> [Period?] {
        try viewer.check(.refunds)
        let keys = Set(rows.map(\.request.key.purchase)).sorted { $0.originalTransactionID < $1.originalTransactionID }
        let found = try PurchaseQuery.find(
            keys, foldSettings: settings.foldSettings, within: DatabaseDesk.bounds, on: connection)
        let purchases = Dictionary(found.map { ($0.purchase.key, $0.purchase) }) { first, _ in first }
        return rows.map { purchases[$0.request.key.purchase]?.period($0.request.key.transactionID) }
    }

    // MARK: - Purchases

    /// What came about a purchase, and what each of it changed, the newest first; nil: there is too much of it to tell it step by
    /// step. Only for those who see customers, whose ids are in it.
    package func steps(of key: PurchaseKey) throws -> [TimelineRow]? {
        guard viewer.may(.customers) else { return nil }
        let count = try FactTable.counts(of: [key], upTo: DatabaseDesk.foldedFacts + 1, on: connection).first ?? 0
        guard count <= DatabaseDesk.foldedFacts else { return nil }
        return try TimelineQuery.timeline(
            of: [key], appUserIDs: [], patience: settings.expiryPatience.milliseconds,
            foldSettings: settings.foldSettings, now: now, order: .heard, on: connection
        ).entries.reversed().map { TimelineRow(entry: $0, order: .heard) }
    }

    // MARK: - The installation

    /// What does not fit together of what was bought, what it gives and what is offered.
    package func catalogueFindings() throws -> [CatalogueCheck.Finding] {
        try viewer.check(.products)
        return settings.catalogueCheck.findings(
            try ProductTable.list(on: connection).map {
                CatalogueCheck.Bought(productID: $0.product.productID, kind: $0.product.kind)
            })
    }

    /// The settings in force, without secrets.
    package func settingsInForce() throws -> [ShownSetting] {
        try viewer.check(.doctor)
        return settings.inForce
    }

    /// Who may log in, with what, and the keys of programs; nothing of it opens anything.
    package func accounts() throws -> AccountsAnswer {
        try viewer.check(.doctor)
        let users = try ConsoleUserTable.list(live: true, on: connection)
        return AccountsAnswer(
            users: users,
            operatorKeys: try OperatorKeyTable.list(on: connection).filter { key in
                key.ended == nil && key.until.map { $0 > now } ?? true
            }, sessions: try users.flatMap { try SessionTable.list(of: $0.name, on: connection) },
            apiKeys: try APIKeyHint.live(on: connection))
    }
}

/// A value of the configuration that is in force.
package struct ShownSetting: Sendable, Equatable {
    package let key: String
    package let value: String
    /// `default`, `file`, or the variable that says it.
    package let origin: String
    package let isStandard: Bool

    package init(key: String, value: String, origin: String, isStandard: Bool) {
        (self.key, self.value, self.origin, self.isStandard) = (key, value, origin, isStandard)
    }
}

/// Users of the console, what they have, and the keys of programs.
package struct AccountsAnswer: Sendable {
    package let users: [ConsoleUser]
    /// Live ones.
    package let operatorKeys: [OperatorKey]
    /// Also those that ended within the last month.
    package let sessions: [ConsoleSession]
    package let apiKeys: [APIKeyHint]
}
