import Base
import Database
import Foundation
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@testable import Customers

/// Accounts with several purchases and several users: in whatever order they are heard of, the same customers have the same
/// purchases, consumers are told of the same money, and `rebuild` finds nothing.
@Suite struct AccountOrderTests {
    private static let orders = 6
    /// `PROPERTY_CASES` in the environment tries more.
    private static let accounts = ProcessInfo.processInfo.environment["PROPERTY_CASES"].flatMap(UInt64.init) ?? 40
    private static let grace = FoldSettings(defaultGrace: .seconds(3 * 86_400))

    @Test func `accounts end the same in every order`() throws {
        let now = SystemClock().now()
        let first = ProcessInfo.processInfo.environment["PROPERTY_SEED"].flatMap(UInt64.init) ?? 1
        let stories = (first..<first + Self.accounts).map { AccountStory(seed: $0, now: now) }
        let straight = try Self.outcome(of: stories, order: 0, now: now)
        #expect(straight.faults == [])
        var told = Set(
            straight.accounts.values.flatMap(\.types).compactMap { $0.split(separator: " ").first.map(String.init) })
        told.formUnion(straight.accounts.values.contains { $0.owners.count > 1 } ? ["two owners"] : [])
        #expect(told == ["INITIAL_PURCHASE", "RENEWAL", "NON_RENEWING_PURCHASE", "two owners"])
        for order in 1..<Self.orders {
            let other = try Self.outcome(of: stories, order: order, now: now)
            #expect(other.faults == [], "order \(order)")
            for story in stories where other.accounts[story.seed] != straight.accounts[story.seed] {
                Issue.record(Comment(rawValue: try Self.told(Self.shrunk(story, order, now), order, now)))
                return
            }
        }
    }

    // MARK: - What came of it

    /// What has to be the same.
    private struct Account: Equatable {
        /// Records by purchase, with all ids of the owner.
        var records: [String: String] = [:]
        /// Milliunits by transaction, as events tell them.
        var money: [String: Int64] = [:]
        /// Types of events with money, by transaction.
        var types: [String] = []
        /// Documents of named customers.
        var documents: [String: String] = [:]
        var owners: Set<String> = []
    }

    private struct Outcome {
        var accounts: [UInt64: Account] = [:]
        var faults: [String] = []
    }

    private static func outcome(of stories: [AccountStory], order: Int, now: Int64) throws -> Outcome {
        let installation = try Installation()
        let worker = try RunningWorker(installation, foldSettings: grace)
        defer { worker.stop() }
        let api = try installation.database.connect(role: "entitled_api")
        let orders = stories.map { $0.order(order) }
        var uuids: Set<String> = []
        // In turn, so that accounts are heard of beside each other.
        for place in 0..<(orders.map(\.count).max() ?? 0) {
            var notifications: [StoreNotification] = []
            for steps in orders where place < steps.count {
                switch steps[place] {
                case .notification(let notification): notifications.append(notification)
                case .post(let key, let post): try Self.post(key, post, on: api)
                }
            }
            uuids.formUnion(notifications.map(\.uuid))
            try installation.postAll(notifications)
        }
        try installation.untilApplied(Int64(uuids.count), timeout: .seconds(600))
        let differences = try installation.settledDifferences()
        var outcome = Outcome(faults: try installation.heldReasons() + differences)
        let connection = try installation.database.connect()
        for story in stories {
            let account = try Self.account(story, installation, now, on: connection)
            outcome.accounts[story.seed] = account
            outcome.faults += try Self.untold(story, on: connection)
        }
        return outcome
    }

    /// As an app posts, but at the time of the story.
    private static func post(_ key: PurchaseKey, _ post: PurchasePost, on connection: PostgresConnection) throws {
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: grace)
        try actions.holding({ [key] }, on: connection) { _ in
            try actions.settlement.hold([key], on: connection)
            let now = try actions.lockOrMake([post.appUserID], on: connection).now
            if try AccountTable.members([key], on: connection).isEmpty {
                try FactTable.insert([CustomerActions.fact(post, of: key)], on: connection)
            } else {
                _ = try actions.take([key: post], now: now, on: connection)
            }
        }
    }

    private static func account(
        _ story: AccountStory, _ installation: Installation, _ now: Int64, on connection: PostgresConnection
    ) throws -> Account {
        var account = Account()
        let ids = story.keys.map(\.originalTransactionID)
        let records = try connection.query(
            """
            SELECT p.original_transaction_id, (to_jsonb(p) - '{version, updated_ms, wake_ms, owner, told_owner}'::text[])::text, (
                SELECT string_agg(a.id, ' ' ORDER BY a.id) FROM entitled.app_user_id a
                WHERE a.original_app_user_id = o.original_app_user_id)
            FROM entitled.purchase p JOIN entitled.app_user_id o ON o.id = p.owner
            WHERE p.original_transaction_id = ANY($1::text[])
            """, [.texts(ids)])
        for row in records {
            let names = try row.text(2)
            account.records[try row.text(0)] = try row.text(1) + " of " + names
            account.owners.insert(names)
        }
        for user in story.users + story.users.map({ "person-\(story.seed)-\($0.prefix(4))" }) {
            // Which id was first seen is a matter of arrival, and whether a customer is known who has nothing: REST makes them when
            // asked.
            let document = try installation.document(of: user, now: now).replacing(
                #/"original_app_user_id":"[^"]*"/#, with: "")
            account.documents[user] = document.hasSuffix("\n[]") ? "nobody" : document
        }
        let events = try connection.query(
            """
            SELECT type, body FROM entitled.event WHERE original_transaction_id = ANY($1::text[]) AND type IN (
                'INITIAL_PURCHASE', 'RENEWAL', 'NON_RENEWING_PURCHASE', 'CANCELLATION', 'REFUND_REVERSED')
            """, [.texts(ids)])
        for row in events {
            let event = try JSON(parsing: try EventBodyCodec.restore(try row.bytes(1)))["event"]
            let transaction = event?["transaction_id"]?.stringValue ?? ""
            guard let price = (event?["price_in_purchased_currency"]?.text).flatMap(Double.init) else { continue }
            account.money[transaction, default: 0] += Int64((price * 1000).rounded())
            let type = try row.text(0)
            if type != "CANCELLATION", type != "REFUND_REVERSED" { account.types.append(type + " " + transaction) }
        }
        account.types.sort()
        return account
    }

    /// Purchases of which consumers believe that other customers have them than the records say: the last event that names an owner,
    /// and the moves that were told since.
    private static func untold(_ story: AccountStory, on connection: PostgresConnection) throws -> [String] {
        let rows = try connection.query(
            """
            WITH told AS (
                SELECT p.original_transaction_id AS purchase, p.owner, (
                    SELECT e.body FROM entitled.event e WHERE e.lane = p.lane
                        AND e.original_transaction_id = p.original_transaction_id
                    ORDER BY e.created_ms DESC LIMIT 1) AS body, (
                    SELECT a.other FROM entitled.action a WHERE a.kind = 'move'
                        AND a.detail::jsonb @> jsonb_build_object('purchases', jsonb_build_array(jsonb_build_object(
                            'original_transaction_id', p.original_transaction_id)))
                    ORDER BY a.seq DESC LIMIT 1) AS moved
                FROM entitled.purchase p WHERE p.original_transaction_id = ANY($1::text[])
            )
            SELECT purchase, owner, body, moved FROM told WHERE body IS NOT NULL
            """, [.texts(story.keys.map(\.originalTransactionID))])
        return try rows.compactMap { row in
            let (purchase, owner, moved) = (try row.text(0), try row.text(1), try row.optionalText(3))
            let event = try JSON(parsing: try EventBodyCodec.restore(try row.bytes(2)))["event"]
            let told = event?["aliases"]?.arrayValue?.compactMap(\.stringValue) ?? []
            let roots = try CustomerTable.roots(of: [owner, moved ?? owner] + told, on: connection)
            let confirmed = moved == nil ? roots.dropFirst(2).compactMap(\.self) : [roots[1]].compactMap(\.self)
            guard !confirmed.contains(where: { $0 == roots[0] }),
                !roots.dropFirst(2).contains(where: { $0 == roots[0] })
            else { return nil }
            let known = try connection.query(
                """
                SELECT created_ms || ' ' || type, body FROM entitled.event WHERE original_transaction_id = $1
                UNION ALL SELECT at_ms || ' ' || kind || ' ' || app_user_id || ' ' || coalesce(other, '') || coalesce(detail, ''), NULL
                FROM entitled.action ORDER BY 1
                """, [.text(purchase)]
            ).map { row in
                let event = try row.optionalBytes(1).map { try JSON(parsing: try EventBodyCodec.restore($0)) }
                return try row.text(0) + " " + (event?["event"]?["aliases"]?.text ?? "")
                    + (event?["event"]?["transaction_id"]?.text ?? "")
            }.filter { line in story.keys.contains { line.contains($0.originalTransactionID) } || line.contains(owner) }
            return "account \(story.seed): consumers do not know that \(purchase) is \(owner)'s:\n"
                + known.joined(separator: "\n")
        }
    }

    // MARK: - Failures

    /// The smallest part of a story that fails in an order, as far as some tries find it.
    private static func shrunk(_ story: AccountStory, _ order: Int, _ now: Int64) throws -> AccountStory {
        var (smallest, place, tries) = (story, 0, 0)
        while place < smallest.steps.count, tries < 30 {
            var smaller = smallest
            smaller.steps.remove(at: place)
            tries += 1
            let differs =
                try outcome(of: [smaller], order: order, now: now).accounts[story.seed]
                != outcome(of: [smaller], order: 0, now: now).accounts[story.seed]
            if differs { smallest = smaller } else { place += 1 }
        }
        return smallest
    }

    private static func told(_ story: AccountStory, _ order: Int, _ now: Int64) throws -> String {
        let steps = story.order(order).map { step in
            switch step {
            case .notification(let one):
                "\(one.type) \(one.subtype ?? "") signed \(one.signedDate) \(one.transaction?.text ?? "")"
            case .post(let key, let post): "post of \(key.originalTransactionID): \(post)"
            }
        }
        let straight = try outcome(of: [story], order: 0, now: now).accounts[story.seed]
        let other = try outcome(of: [story], order: order, now: now).accounts[story.seed]
        return """
            account \(story.seed) in order \(order):
            \(steps.joined(separator: "\n"))
            ends as \(other.map { "\($0)" } ?? "nothing")
            and in the order of its times as \(straight.map { "\($0)" } ?? "nothing")
            """
    }
}
