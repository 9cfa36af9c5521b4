import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import Synchronization
import TestSupport
import Testing

@Suite struct ReportTests {
    private static let question = ReportQuestion(app: nil, environment: .production, step: .month)
    private static let begin = SystemClock().now() - 800 * StoreProduct.day

    /// Lives of every kind, applied.
    private func furnished(_ lives: UInt64 = 6) throws -> (Installation, [StoreNotification]) {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let now = SystemClock().now()
        var notifications = Scenario.everyKind.notifications(app: Installation.app, seed: 21, number: 0, until: now)
        for number in 1...lives {
            notifications += Scenario.year.notifications(app: Installation.app, seed: 21, number: number, until: now)
            notifications += Scenario.mixed.notifications(
                app: Installation.app, seed: 22, number: number, until: now)
        }
        var tester = SubscriberLife(app: Installation.sandbox, seed: 23)
        notifications.append(tester.start(at: Installation.start))
        let once = Dictionary(notifications.map { ($0.uuid, $0) }) { first, _ in first }
        try installation.postAll(Array(once.values))
        try installation.untilApplied(Int64(once.count))
        return (installation, Array(once.values))
    }

    private func report(
        _ installation: Installation, _ question: ReportQuestion = question, threads: Int = 2, pageSize: Int = 7,
        meanwhile: () throws -> Void = {}
    ) throws -> Report {
        let database = installation.database
        return try ReportRun(
            question, foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), threads: threads,
            pageSize: pageSize
        ).run(
            connect: { try database.connect(role: "entitled_api") },
            calendar: { now in
                try meanwhile()
                return try #require(ReportCalendar(from: Self.begin, to: now, by: question.step))
            }, progress: { _, _ in })
    }

    /// What each transaction brought, by what the store signed of it last, reckoned from the notifications alone.
    private func signed(_ notifications: [StoreNotification]) -> [String: Int64] {
        var newest: [String: (signed: Int64, payload: JSON)] = [:]
        for notification in notifications {
            guard let payload = notification.transaction, let id = payload["transactionId"]?.stringValue,
                payload["environment"]?.stringValue == "Production"
            else { continue }
            if notification.signedDate > newest[id]?.signed ?? .min { newest[id] = (notification.signedDate, payload) }
        }
        var net: [String: Int64] = [:]
        for (_, payload) in newest.values {
            guard let price = payload["price"]?.intValue, price > 0, let currency = payload["currency"]?.stringValue
            else {
                continue
            }
            let share = payload["revocationDate"] == nil ? 0 : payload["revocationPercentage"]?.intValue ?? 100_000
            net[currency, default: 0] += price - (price * share + 50_000) / 100_000
        }
        return net
    }

    @Test func `lives that were played are counted as they were signed, customer by customer too`() throws {
        let (installation, notifications) = try furnished()
        let report = try report(installation)
        let earned = Dictionary(
            uniqueKeysWithValues: report.total.currencies.compactMap { currency, money in
                currency.map { ($0, money.net) }
            })
        #expect(earned == signed(notifications))
        #expect(earned.count > 1)
        let connection = try installation.database.connect(role: "entitled_api")
        var spent: [String: Int64] = [:]
        for id in try installation.database.texts("SELECT original_app_user_id FROM entitled.customer") {
            let found = try #require(try CustomerQuery.find(anyID: id, foldSettings: FoldSettings(), on: connection))
            for total in Spending(found.purchases).totals where total.environment == .production {
                spent[try #require(total.currency), default: 0] += total.net
            }
        }
        #expect(spent == earned)
        let counted = [ReportCount.new, .renewed, .churned, .refunds, .trialsStarted, .oneTimePurchases, .upgraded]
        for what in counted { #expect((report.total.counts[what] ?? 0) > 0, "\(what)") }
        #expect(report.purchases == (try production(installation)))
    }

    private func production(_ installation: Installation) throws -> Int64 {
        try installation.database.count("SELECT count(*) FROM entitled.purchase WHERE environment = 0")
    }

    @Test func `pages and threads of any number find the same`() throws {
        let (installation, _) = try furnished(2)
        let connection = try installation.database.connect(role: "entitled_api")
        let first = try report(installation, pageSize: 100_000)
        // The other way to the same facts.
        var tally = ReportTally(
            try #require(ReportCalendar(from: first.total.from, to: first.total.to, by: .month)),
            foldSettings: FoldSettings(defaultGrace: .milliseconds(3 * 86_400_000)))
        let keys = try installation.database.texts(
            "SELECT original_transaction_id FROM entitled.purchase WHERE environment = 0"
        ).map { PurchaseKey(app: "demo", environment: .production, originalTransactionID: $0) }
        for (key, facts) in zip(keys, try FactTable.load(keys, on: connection)) {
            let purchase = try #require(
                Purchase(
                    folding: facts, key: key, foldSettings: FoldSettings(defaultGrace: .milliseconds(3 * 86_400_000))))
            tally.add(purchase, facts)
        }
        #expect(Report(tally, Self.question).total.revenue == first.total.revenue)
        #expect(Report(tally, Self.question).total.counts == first.total.counts)
        #expect(Report(tally, Self.question).total.gauges == first.total.gauges)
        for (threads, pageSize) in [(1, 1), (3, 2), (2, 13)] {
            let again = try report(installation, threads: threads, pageSize: pageSize)
            #expect(again.total.counts == first.total.counts && again.total.revenue == first.total.revenue)
            #expect(again.purchases == first.purchases)
        }
    }

    @Test func `it sees one moment, whatever is written meanwhile`() throws {
        let (installation, _) = try furnished(2)
        let before = try report(installation)
        let database = installation.database
        let during = try report(installation) {
            try database.execute("DELETE FROM entitled.fact")
        }
        #expect(during.total.revenue == before.total.revenue && during.purchases == before.purchases)
        #expect(try report(installation).purchases == 0)
    }

    @Test func `the sandbox is another report, and what was granted in neither`() throws {
        let (installation, _) = try furnished(2)
        let sandbox = ReportQuestion(app: "demo", environment: .sandbox, step: .total)
        #expect(try report(installation, sandbox).purchases == 1)
        let both = try report(installation).purchases
        try installation.database.execute(
            "UPDATE entitled.fact SET app = '$promotional' WHERE environment = 1")
        #expect(try report(installation, sandbox).purchases == 0)
        let everywhere = ReportQuestion(app: nil, environment: .sandbox, step: .total)
        #expect(try report(installation, everywhere).purchases == 0)
        #expect(try report(installation).purchases == both)
        let nobody = ReportQuestion(app: "other", environment: .production, step: .total)
        #expect(try report(installation, nobody).total.revenue == [:])
    }

    @Test func `what fails in one thread ends all of them with its reason`() throws {
        let (installation, _) = try furnished(2)
        let database = installation.database
        let calls = Atomic<Int>(0)
        #expect(throws: TestFailure.self) {
            _ = try ReportRun(Self.question, foldSettings: FoldSettings(), threads: 3).run(
                connect: {
                    guard calls.add(1, ordering: .relaxed).newValue != 3 else { throw TestFailure("no connection") }
                    return try database.connect(role: "entitled_api")
                }, calendar: { try #require(ReportCalendar(from: Self.begin, to: $0, by: .total)) },
                progress: { _, _ in })
        }
        try database.execute(
            "UPDATE entitled.fact SET payload = 'nonsense' WHERE lane = (SELECT max(lane) FROM entitled.fact)")
        #expect(throws: (any Error).self) { try report(installation) }
    }
}
