import Base
import Daemon
import Database
import Postgres
import Subscriptions

extension CustomerActions {
    /// A customer as another system knows them.
    package struct ImportedCustomer: Sendable {
        package let appUserID: String
        package let aliases: [String]
        /// ms since 1970.
        package let firstSeen: Int64?
        /// `{key: {"value", "updated_at_ms"}}`.
        package let attributes: JSON?

        package init(appUserID: String, aliases: [String] = [], firstSeen: Int64? = nil, attributes: JSON? = nil) {
            self.appUserID = appUserID
            self.aliases = aliases
            self.firstSeen = firstSeen
            self.attributes = attributes
        }
    }

    /// A purchase with what Apple says of it.
    package struct ImportedPurchase: Sendable {
        package let key: PurchaseKey
        /// Whether the other system says that it is the customer's; else it is of the same Apple account alone.
        package let isNamed: Bool
        /// The oldest first.
        package let transactions: [(fact: TransactionFact, entry: NewNotification)]
        package let states: [(status: Int, transaction: TransactionFact, renewal: RenewalFact?, entry: NewNotification)]

        package init(
            key: PurchaseKey, isNamed: Bool, transactions: [(fact: TransactionFact, entry: NewNotification)],
            states: [(status: Int, transaction: TransactionFact, renewal: RenewalFact?, entry: NewNotification)]
        ) {
            self.key = key
            self.isNamed = isNamed
            self.transactions = transactions
            self.states = states
        }

        /// App account tokens that name customers.
        var tokens: [String] { transactions.compactMap(\.fact.appAccountToken) }
    }

    /// What imports put into the log, and for whom.
    package struct ImportTerms: Sendable {
        let sequence: SequenceGenerator
        let clock: any WallClock
        let tells: Bool

        /// - Parameter tells: whether consumers are told that purchases moved.
        package init(sequence: SequenceGenerator, clock: any WallClock, tells: Bool) {
            self.sequence = sequence
            self.clock = clock
            self.tells = tells
        }
    }

    /// What came of a row.
    package struct BroughtIn: Sendable {
        /// False: the purchases were theirs by an import before, and nothing of them is new.
        package let isNew: Bool
        /// Attributes that cannot be written here. They keep no purchase from its customer.
        package let leftOut: [AttributePolicy.Fault]
    }

    /// Brings in a customer with purchases, in a transaction that has begun: ids, attributes, what Apple signed, and whose the
    /// purchases are. An assignment says so, which counts more than account tokens of the time before; later posts and restores
    /// move purchases as always.
    ///
    /// - Throws: `Rejection`; then the transaction has to be rolled back. `busy`: it has to be begun again.
    @discardableResult
    package func bringIn(
        _ customer: ImportedCustomer, _ purchases: [ImportedPurchase], _ terms: ImportTerms,
        on connection: PostgresConnection
    ) throws -> BroughtIn {
        let keys = purchases.map(\.key)
        _ = try Fence.hold(Set(keys.map(\.lane)), on: connection)
        try settlement.hold(keys, on: connection)
        let owners = try PurchaseTable.owners(keys, on: connection)
        let known = try FactTable.load(keys, on: connection)
        let (id, aliases) = try names(of: customer, on: connection)
        let ids = [id] + aliases
        try requireUsable(id, on: connection)
        for alias in aliases { try requireUsable(alias, on: connection) }
        let claimed = zip(owners, known).compactMap { $0 ?? $1.assignments.newest?.owner }
        var found = try lock(ids + claimed, on: connection)
        if found.first == nil {
            try CustomerTable.make([id], now: customer.firstSeen ?? found.now, on: connection)
            found = try lock(ids + claimed, on: connection)
            if found.first == nil { throw Rejection.busy }
        }
        if let instant = customer.firstSeen { try CustomerTable.backdate(id, to: instant, on: connection) }
        let root = try joinAliases(aliases, to: id, now: found.now, on: connection)
        let leftOut = try setAttributes(customer.attributes, of: id, now: found.now, on: connection)
        guard !purchases.isEmpty else { return BroughtIn(isNew: false, leftOut: leftOut) }
        if let why = try objection(to: purchases, by: root, owners, known, on: connection) { throw why }
        let now = try ActionTable.nextTime(about: ids, of: [root], on: connection)
        let entries = zip(purchases, known).flatMap(CustomerActions.news)
        _ = try CustomerActions.insert(entries, terms.sequence, terms.clock, on: connection)
        let tokens = Set(purchases.filter(\.isNamed).flatMap(\.tokens))
        let taken = try zip(zip(purchases, owners), known).filter { item, facts in
            try (item.0.isNamed || tokens.isSuperset(of: item.0.tokens))
                && isTaken(item.0, by: root, item.1, facts, on: connection)
        }.map(\.0.0)
        for isNamed in [true, false] {
            let part = taken.filter { $0.isNamed == isNamed }.map(\.key)
            if !part.isEmpty { try give(part, to: id, isNamed: isNamed, terms, now: now, on: connection) }
        }
        return BroughtIn(isNew: !entries.isEmpty || !taken.isEmpty, leftOut: leftOut)
    }

    // MARK: - Ids

    /// The id by which the customer is known here, and the others. A UUID in another case is the same one.
    private func names(
        of customer: ImportedCustomer, on connection: PostgresConnection
    ) throws -> (id: String, aliases: [String]) {
        let given = customer.appUserID
        guard UUIDText.bytes(given) != nil, let id = try CustomerTable.find([given], on: connection)[given], id != given
        else { return (given, customer.aliases) }
        return (id, [given] + customer.aliases.filter { $0 != id })
    }

    /// The original id that the customer has then.
    private func joinAliases(
        _ aliases: [String], to id: String, now: Int64, on connection: PostgresConnection
    ) throws -> String {
        for alias in aliases {
            let found = try CustomerTable.lock([id, alias], on: connection)
            guard let one = found.first ?? nil else { throw Rejection.busy }
            if let two = found.last ?? nil {
                if one == two { continue }
                // What the other system takes for one person are two here: an operator has to decide.
                if !one.isAnonymous, !two.isAnonymous { throw Rejection.persons(id, alias) }
            } else {
                try CustomerTable.make([alias], now: now, on: connection)
            }
            if try ids(of: id, on: connection).count >= CustomerActions.mostIDs { throw Rejection.tooManyIDs(id) }
            _ = try join(id, alias, .alias, on: connection)
        }
        guard let root = try CustomerTable.lock([id], on: connection).first ?? nil else { throw Rejection.busy }
        return root.originalAppUserID
    }

    /// Attributes of a row that cannot be written for a customer who has none yet.
    package static func unusableAttributes(of customer: ImportedCustomer, now: Int64) -> [AttributePolicy.Fault] {
        let none = CustomerAttributes()
        return customer.attributes.flatMap { AttributePolicy.decide($0, known: none, own: none, now: now) }?.faults
            ?? []
    }

    /// Those that cannot be written.
    private func setAttributes(
        _ attributes: JSON?, of id: String, now: Int64, on connection: PostgresConnection
    ) throws -> [AttributePolicy.Fault] {
        guard let attributes else { return [] }
        let known = try AttributeTable.load(try ids(of: id, on: connection), own: id, on: connection)
        guard let decision = AttributePolicy.decide(attributes, known: known.all, own: known.own, now: now) else {
            return []
        }
        try AttributeTable.write(decision, of: id, on: connection)
        return decision.faults
    }

    // MARK: - Purchases

    /// What is not known yet: Apple signs anew whatever it is asked.
    private static func news(_ purchase: ImportedPurchase, _ known: PurchaseFacts) -> [NewNotification] {
        purchase.transactions.filter { !known.says($0.fact) }.map(\.entry)
            + purchase.states.filter { !known.says(status: $0.status, $0.transaction, $0.renewal) }.map(\.entry)
    }

    /// Why some purchase that the other system gives to the customer cannot be theirs; nil: all can. What an app posted for
    /// another customer here, what an operator gave to one, and what a row before gave to one stays.
    ///
    /// - Parameter root: the customer's original id; nil: they are new.
    private func objection(
        to purchases: [ImportedPurchase], by root: String?, _ owners: [String?], _ known: [PurchaseFacts],
        on connection: PostgresConnection
    ) throws -> Rejection? {
        for (place, purchase) in purchases.enumerated() where purchase.isNamed {
            let facts = known[place]
            guard let other = try otherOwner(than: root, owners[place], facts, on: connection) else { continue }
            if let assignment = facts.assignments.newest {
                if try ActionTable.importGrounds(of: assignment.action, on: connection) == .implied { continue }
            } else if facts.posts.isEmpty {
                continue
            }
            return .taken(purchase: purchase.key.originalTransactionID, owner: other)
        }
        return nil
    }

    /// Another customer, whom an app or an operator named, who has the purchase or will have it once it is applied.
    private func otherOwner(
        than root: String?, _ owner: String?, _ facts: PurchaseFacts, on connection: PostgresConnection
    ) throws -> String? {
        let named = owner ?? facts.assignments.newest?.owner ?? facts.posts.max { $0.counts < $1.counts }?.appUserID
        guard let named, let customer = try CustomerTable.roots(of: [named], on: connection).first ?? nil,
            customer.originalAppUserID != root, !customer.isAnonymous
        else { return nil }
        return named
    }

    /// Whether the import has to give a purchase to the customer. Others of the Apple account are theirs where nothing else says
    /// whose they are, no other account token either.
    private func isTaken(
        _ purchase: ImportedPurchase, by root: String, _ owner: String?, _ facts: PurchaseFacts,
        on connection: PostgresConnection
    ) throws -> Bool {
        guard purchase.isNamed else {
            return try facts.assignments.isEmpty && facts.posts.isEmpty
                && otherOwner(than: root, owner, facts, on: connection) == nil
        }
        return try !isImported(facts, by: root, on: connection)
    }

    /// Whether a row gave the purchase to the customer before.
    private func isImported(
        _ facts: PurchaseFacts, by root: String, on connection: PostgresConnection
    ) throws -> Bool {
        guard let assignment = facts.assignments.newest,
            try CustomerTable.roots(of: [assignment.owner], on: connection).first??.originalAppUserID == root
        else { return false }
        return try ActionTable.importGrounds(of: assignment.action, on: connection) == .named
    }

    /// Whether all of these purchases are the customer's by an import, so that Apple need not be asked. Nothing changes.
    package func isImported(
        _ keys: [PurchaseKey], by id: String, on connection: PostgresConnection
    ) throws -> Bool {
        guard let root = try CustomerTable.roots(of: [id], on: connection).first??.originalAppUserID else {
            return false
        }
        return try FactTable.load(keys, on: connection).allSatisfy { try isImported($0, by: root, on: connection) }
    }

    /// Why an import would be refused at this moment; nil: it would not. Nothing changes.
    package func importObjection(
        _ customer: ImportedCustomer, _ purchases: [ImportedPurchase], on connection: PostgresConnection
    ) throws -> Rejection? {
        let (id, aliases) = try names(of: customer, on: connection)
        let roots = try CustomerTable.roots(of: [id] + aliases, on: connection)
        let one = roots.first ?? nil
        for (alias, two) in zip(aliases, roots.dropFirst()) {
            if let one, let two, one != two, !one.isAnonymous, !two.isAnonymous { return .persons(id, alias) }
        }
        let keys = purchases.map(\.key)
        return try objection(
            to: purchases, by: one?.originalAppUserID, try PurchaseTable.owners(keys, on: connection),
            try FactTable.load(keys, on: connection), on: connection)
    }

    private func give(
        _ keys: [PurchaseKey], to id: String, isNamed: Bool, _ terms: ImportTerms, now: Int64,
        on connection: PostgresConnection
    ) throws {
        let names = JSON.array(
            keys.map {
                .object([
                    "app": .string($0.app), "environment": .string($0.environment.rawValue),
                    "original_transaction_id": .string($0.originalTransactionID),
                ])
            })
        let action = try ActionTable.add(
            ActionTable.New(
                .import, id,
                detail: .object(["purchases": names, ActionTable.implied: isNamed ? nil : .bool(true)])),
            by: origin, now: now, on: connection)
        let claims = try assign(keys.map { ($0, id) }, action, now: now, on: connection)
        _ = try settlement.settle(claims, tells: terms.tells, by: origin, now: now, on: connection)
        // What waits for the buyer's name has it now.
        try PurchaseTable.wakeWaiting(keys, at: now, on: connection)
    }
}
