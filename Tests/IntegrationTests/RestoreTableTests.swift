import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// RevenueCat's table of restore behaviours: what becomes of a purchase that one customer owns and another restores.
@Suite struct RestoreTableTests {
    enum Restorer: CaseIterable {
        case anonymous, identified, same
    }

    enum Outcome: Equatable {
        case theirs, joined, moved, refused
    }

    struct Case {
        let behavior: RestoreBehavior
        let isOwnerAnonymous: Bool
        let isActive: Bool
        let restorer: Restorer
        let expected: Outcome
    }

    /// Behaviour; what becomes of an identified owner's purchase, without and with an active subscription of theirs.
    /// An anonymous owner is joined, whatever the behaviour; and nobody takes anything from themselves.
    private static let identifiedOwner: [(RestoreBehavior, Outcome, Outcome)] = [
        (.transfer, .moved, .moved), (.transferIfNoActiveSubscriptions, .moved, .refused),
        (.keep, .refused, .refused), (.share, .joined, .joined),
    ]

    static let cases: [Case] = identifiedOwner.flatMap { behavior, idle, active in
        [false, true].flatMap { isActive in
            Restorer.allCases.flatMap { restorer in
                [true, false].map { isOwnerAnonymous in
                    let outcome: Outcome =
                        restorer == .same ? .theirs : isOwnerAnonymous ? .joined : isActive ? active : idle
                    return Case(
                        behavior: behavior, isOwnerAnonymous: isOwnerAnonymous, isActive: isActive,
                        restorer: restorer, expected: outcome)
                }
            }
        }
    }

    @Test func `each cell of the table, and what consumers are told`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        // Two purchases of each Apple account: a restore takes both.
        var lives = (UInt64(0)..<UInt64(Self.cases.count)).map { number in
            (0..<2).map { SubscriberLife(app: Installation.app, seed: 80 + $0, number: number) }
        }
        var notifications: [StoreNotification] = []
        for (place, item) in Self.cases.enumerated() {
            lives[place][1].account = lives[place][0].account
            for purchase in lives[place].indices {
                let lasts = (item.isActive ? 40 : 5) * StoreProduct.day
                let start = lives[place][purchase].start(lasts: lasts, at: Installation.start)
                notifications.append(item.isOwnerAnonymous ? start.withoutToken : start)
                if !item.isActive {
                    let ended = lives[place][purchase].expire(at: Installation.start + lasts)
                    notifications.append(item.isOwnerAnonymous ? ended.withoutToken : ended)
                }
            }
        }
        try installation.postAll(notifications)
        try installation.untilApplied(Int64(notifications.count))
        // As the role that answers apps.
        let connection = try installation.database.connect(role: "entitled_api")
        for (place, item) in Self.cases.enumerated() {
            try check(item, lives[place], place, installation, connection)
        }
        try installation.expectNoDifferences()
    }

    private func check(
        _ item: Case, _ lives: [SubscriberLife], _ number: Int, _ installation: Installation,
        _ connection: PostgresConnection
    ) throws {
        let actions = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        let keys = lives.map {
            PurchaseKey(app: "demo", environment: .production, originalTransactionID: $0.latest.originalID)
        }
        func owners() throws -> [String?] { try PurchaseTable.owners(keys, on: connection) }
        let owner = try #require(try owners().first ?? nil)
        try #require(Owner.isAnonymous(owner) == item.isOwnerAnonymous)
        let id =
            switch item.restorer {
            case .anonymous: "$RCAnonymousID:\(Hex.encode([UInt8](repeating: UInt8(number), count: 16)))"
            case .identified: "restorer-\(number)"
            case .same: owner
            }
        if item.restorer != .same { try CustomerTable.make([id], now: SystemClock().now(), on: connection) }
        // The settings that count, among others that do not.
        let others = RestoreBehavior.allCases.first { $0 != item.behavior } ?? .keep
        let settings = RestoreSettings(
            general: others, apps: ["demo": .init(behavior: item.behavior, sandboxBehavior: others)])
        let name: Comment = "\(item)"
        let mayRestore = try actions.mayRestore(
            keys[0], by: id, settings: settings, now: SystemClock().now(), on: connection)
        #expect(mayRestore == (item.expected != .refused), name)
        let events = try transfers(connection)
        let found: Outcome
        do {
            switch try actions.claim(keys[0], by: id, settings: settings, on: connection) {
            case .theirs: found = .theirs
            case .joined: found = .joined
            case .moved: found = .moved
            }
        } catch CustomerActions.Rejection.restore {
            found = .refused
        }
        #expect(found == item.expected, name)
        let new = try transfers(connection).filter { !events.contains($0) }
        #expect(new.count == (found == .moved ? 1 : 0), name)
        if let event = new.first?["event"] {
            #expect(event["transferred_from"] == .strings([owner]), name)
            #expect(event["transferred_to"] == .strings([id]), name)
            #expect(event["environment"] == .string("PRODUCTION"), name)
        }
        // An anonymous owner is the same customer as the one who restores, who names the purchases from then on.
        let isGiven = found == .moved || found == .joined && item.isOwnerAnonymous
        #expect(try owners() == (isGiven ? [id, id] : [owner, owner]), name)
        let customers = try CustomerTable.load([owner, id], on: connection)
        let isOne = customers[owner] == customers[id]
        #expect(isOne == (found == .joined || found == .theirs), name)
    }

    private func transfers(_ connection: PostgresConnection) throws -> [JSON] {
        try connection.query("SELECT body FROM entitled.event WHERE type = 'TRANSFER' ORDER BY id").map {
            try JSON(parsing: try EventBodyCodec.restore(try $0.bytes(0)))
        }
    }

    @Test func `the owner's own setting counts, survives joining, and the log knows it`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 85)
        try installation.postAll([life.start(at: Installation.start)])
        try installation.untilApplied(1)
        let token = try #require(life.account.token)
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        let connection = try installation.database.connect(role: "entitled_api")
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let settings = RestoreSettings(general: .transfer)
        func set(_ behavior: RestoreBehavior?, _ id: String) throws -> Bool {
            try actions.setRestoreBehavior(behavior, of: id, on: connection)
        }
        func mine(_ id: String) throws -> RestoreBehavior? {
            let found = try CustomerTable.roots(of: [id], on: connection)
            return found.first??.restoreBehavior
        }
        #expect(try set(.keep, token))
        #expect(try !set(.keep, token))
        // What the restorer has set is no matter.
        try actions.admit("thief", on: connection)
        #expect(try set(.transfer, "thief"))
        #expect(throws: CustomerActions.Rejection.self) {
            _ = try actions.claim(key, by: "thief", settings: settings, on: connection)
        }
        // A customer without a word of their own changes nothing, one with a later word does.
        try actions.admit("friend", on: connection)
        _ = try actions.alias("friend", token, on: connection)
        #expect(try mine(token) == .keep)
        try actions.admit("spouse", on: connection)
        #expect(try set(.share, "spouse"))
        try installation.expectNoDifferences()
        _ = try actions.alias(token, "spouse", on: connection)
        #expect(try mine(token) == .share)
        try installation.expectNoDifferences()
        try installation.database.execute("UPDATE entitled.customer SET restore_behavior = 'error'")
        #expect(try installation.differences().count == 2)
        _ = try actions.setRestoreBehavior(nil, of: token, on: connection)
        #expect(try mine("friend") == nil)
        #expect(throws: CustomerActions.Rejection.unknown("nobody")) { _ = try set(.keep, "nobody") }
        // Who is deleted takes it along.
        #expect(try set(.keep, "spouse"))
        _ = try actions.delete("spouse", on: connection)
        try actions.admit("spouse", on: connection)
        #expect(try mine("spouse") == nil)
        try installation.database.execute("UPDATE entitled.customer SET restore_behavior = NULL")
        #expect(try installation.differences().count == 1)
    }
}
