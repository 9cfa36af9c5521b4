import Base
import Charts
import Customers
import Database
import Operator
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Charts of lives that were played: what the desk answers is what `entitled report` counts, number by number.
@Suite struct ChartTests {
    private static let foldSettings = FoldSettings(defaultGrace: .seconds(3 * 86_400))
    private static let now = SystemClock().now() / 1000 * 1000
    private static let terms = ReportTerms(
        catalogue: EntitlementCatalogue([:]), rates: DollarRates(), seller: SellerTerms(), foldSettings: foldSettings)

    /// Central Europe's clocks, by the rule of 1996: from 01:00 UTC of the last Sunday of March to that of October.
    private static let vienna = LocalZone { instant in
        let year = Int64(Day(of: instant).text.prefix(4)) ?? 1970
        func change(_ month: String) -> Int64 {
            guard let last = Timestamp.parse("\(year)-\(month)-31") else { return 0 }
            // 1970-01-01 was a Thursday.
            let day = Day(of: last)
            return day.adding(-((day.number + 4) % 7)).start + 3_600_000
        }
        return change("03") <= instant && instant < change("10") ? (7200, "CEST") : (3600, "CET")
    }

    private static let shared = Result { try furnished() }
    private let installation: Installation

    init() throws { installation = try Self.shared.get() }

    private static func furnished() throws -> Installation {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var notifications = Scenario.everyKind.notifications(app: Installation.app, seed: 41, number: 0, until: now)
        for number in 1...8 as ClosedRange<UInt64> {
            notifications += Scenario.year.notifications(app: Installation.app, seed: 41, number: number, until: now)
            notifications += Scenario.mixed.notifications(app: Installation.app, seed: 42, number: number, until: now)
        }
        var tester = SubscriberLife(app: Installation.sandbox, seed: 43)
        notifications.append(tester.start(at: Installation.start))
        let once = Dictionary(notifications.map { ($0.uuid, $0) }) { first, _ in first }
        try installation.postAll(Array(once.values))
        try installation.untilApplied(Int64(once.count))
        try ReportRefresh(terms, pageSize: 5).all(on: try installation.database.connect(role: "entitled_worker"))
        return installation
    }

    private func answer(
        _ name: ChartName, _ query: String, zone: LocalZone = .utc, reader: ChartReader? = nil
    ) throws -> ChartAnswer {
        var settings = DeskSettings(retrySchedule: RetrySchedule(waits: [1000]))
        settings.charts = ChartSettings(zone: zone, reader: reader)
        var parameters = try DeskParameters(query: query, of: "chart")
        let question = try ChartQuestion(&parameters, now: Self.now)
        return try DatabaseDesk.ask(
            settings, for: Viewer(user: "anna", role: .finance), now: Self.now,
            on: try installation.database.connect(role: "entitled_console")
        ) { try $0.chart(name.rawValue, question) }
    }

    private func report(
        _ from: Int64, _ to: Int64, _ step: ReportCalendar.Step, _ environment: StoreEnvironment = .production,
        zone: LocalZone = .utc
    ) throws -> Report {
        let database = installation.database
        return try ReportRun(
            ReportQuestion(app: nil, environment: environment, step: step), foldSettings: Self.foldSettings, threads: 2
        ).run(
            connect: { try database.connect(role: "entitled_api") },
            calendar: { _ in try #require(ReportCalendar(from: from, to: to, by: step, in: zone)) },
            progress: { _, _ in })
    }

    struct Time: Sendable, CustomTestStringConvertible {
        let days: (Int64, Int64)
        let by: ReportCalendar.Step
        let isVienna: Bool
        var testDescription: String { "\(days) by \(by)\(isVienna ? " in Vienna" : "")" }
        var from: Int64 { ChartTests.now - days.0 * StoreProduct.day }
        var to: Int64 { ChartTests.now - days.1 * StoreProduct.day - 1000 }
        var zone: LocalZone { isVienna ? ChartTests.vienna : .utc }
        var query: String { "from=\(Timestamp.text(from))&to=\(Timestamp.text(to))&by=\(by.rawValue)" }
    }

    static let spans = [
        Time(days: (800, 0), by: .month, isVienna: false), Time(days: (800, 0), by: .month, isVienna: true),
        Time(days: (410, 20), by: .week, isVienna: true), Time(days: (395, 30), by: .day, isVienna: true),
        Time(days: (60, 0), by: .day, isVienna: false), Time(days: (123, 45), by: .week, isVienna: false),
    ]

    @Test(arguments: spans)
    func `numbers are those of the report of the same time`(span: Time) throws {
        let report = try report(span.from, span.to, span.by, zone: span.zone)
        let before = try self.report(span.from - 4000 * StoreProduct.day, span.from, .total).total
        func table(_ name: ChartName) throws -> [[String: Int64]] {
            let answer = try answer(name, span.query, zone: span.zone)
            #expect(answer.chart.tables.count == 1)
            let rows = try #require(answer.chart.tables.first).rows
            #expect(rows.map { [$0.from, $0.to] } == report.parts.map { [$0.from, $0.to] })
            return rows.map { row in values(row, answer.chart) }
        }
        let (active, movement) = (try table(.active), try table(.activeMovement))
        let (churn, trials) = (try table(.churn), try table(.trials))
        var start = before.gauges[.active] ?? 0
        for (place, part) in report.parts.enumerated() {
            for gauge in ReportGauge.allCases { #expect(active[place][gauge.rawValue] == part.gauges[gauge]) }
            for what in [
                ReportCount.new, .takenOver, .resubscribed, .recovered, .churnedVoluntary, .churnedBilling,
                .churnedRefund, .churnedPriceIncrease, .churnedNotForSale, .churnedOther,
            ] { #expect(movement[place][what.rawValue] == part.counts[what], "\(what)") }
            #expect(movement[place]["at_start"] == start && churn[place]["active_at_start"] == start)
            start = part.gauges[.active] ?? 0
            #expect(movement[place]["at_end"] == start)
            #expect(churn[place]["churned"] == part.counts[.churned])
            #expect(churn[place]["churned_trials"] == part.counts[.churnedTrials])
            #expect(trials[place]["started"] == part.counts[.trialsStarted])
            #expect(trials[place]["conversions"] == part.counts[.trialConversions])
            #expect(
                trials[place]["started"]
                    == ["converted", "ended", "running"].reduce(0) { $0 + (trials[place][$1] ?? 0) })
        }
        #expect(span.days.0 < 800 || report.parts.contains { ($0.counts[.churned] ?? 0) > 0 })
        try compareMoney(span, report, before)
    }

    private func values(_ row: Chart.Row, _ chart: Chart) -> [String: Int64] {
        zip(chart.series, row.values).reduce(into: [:]) { $0[$1.0.name] = $1.1 }
    }

    private func compareMoney(_ span: Time, _ report: Report, _ before: Report.Part) throws {
        func money(_ part: Report.Part, _ currency: String?) -> ReportMoney {
            part.currencies.first { $0.currency == currency }?.money ?? .zero
        }
        let paid = Set(report.parts.flatMap { $0.currencies.map(\.currency) })
        for name in ChartName.allCases where name.isMoney {
            let answer = try answer(name, span.query, zone: span.zone)
            let currencies = answer.chart.tables.map(\.currency)
            let isMonthly = name == .mrr || name == .mrrMovement
            #expect(isMonthly || Set(currencies).isSubset(of: paid))
            for currency in paid where !currencies.contains(currency) {
                for part in report.parts {
                    let amounts = money(part, currency)
                    #expect(isMonthly ? amounts.monthly == 0 : amounts.payments + amounts.refunds == 0)
                }
            }
            for table in answer.chart.tables {
                var start = money(before, table.currency).monthly
                for (row, part) in zip(table.rows, report.parts) {
                    let (found, wanted) = (values(row, answer.chart), money(part, table.currency))
                    switch name {
                    case .mrr: #expect(found["mrr"] == wanted.monthly && found["arr"] == 12 * wanted.monthly)
                    case .mrrMovement:
                        func moved(_ name: String) -> Int64 { found[name] ?? 0 }
                        #expect(moved("at_start") == start && moved("at_end") == wanted.monthly)
                        let up = moved("new") + moved("taken_over") + moved("back") + moved("expansion")
                        #expect(start + up - moved("contraction") - moved("churned") == wanted.monthly)
                        #expect(found.values.allSatisfy { $0 >= 0 })
                        start = wanted.monthly
                    case .revenue:
                        #expect(found["payments"] == wanted.payments && found["refunds"] == wanted.refunds)
                        #expect(table.currency == nil || found["gross"] == wanted.gross)
                        #expect(table.currency == nil || found["refunded"] == wanted.refunded)
                        #expect(table.currency == nil || found["net"] == wanted.net)
                    default:
                        #expect(found["refunds"] == wanted.refunds && found["payments"] == wanted.payments)
                        #expect(table.currency == nil || found["refunded"] == wanted.refunded)
                        #expect((found["payments_refunded"] ?? 0) <= wanted.payments)
                    }
                }
            }
        }
    }

    @Test func `days begin by the zone's clocks, also on those that clocks are changed on`() throws {
        let answer = try answer(.active, "from=2026-03-28&to=2026-03-31&by=day", zone: Self.vienna)
        let rows = try #require(answer.chart.tables.first).rows
        #expect(rows.map(\.label) == ["2026-03-28", "2026-03-29", "2026-03-30"])
        #expect(rows.map { ($0.to - $0.from) / 3_600_000 } == [24, 23, 24])
    }

    @Test func `the cohorts of all time are those who pay`() throws {
        let answer = try answer(.retention, "from=\(Timestamp.text(Self.now - 900 * StoreProduct.day))")
        let rows = try #require(answer.chart.tables.first).rows
        let report = try report(answer.scope.calendar.from, answer.scope.calendar.to, .month)
        for (place, part) in report.parts.enumerated() {
            let paying = (0...place).reduce(Int64(0)) { $0 + (rows[$1].values[place - $1 + 1] ?? 0) }
            #expect(paying == part.gauges[.paying])
        }
        #expect(rows.reduce(0) { $0 + ($1.values[0] ?? 0) } > 8)
    }

    @Test func `countries, products and currencies are parts of all, and the sandbox is apart`() throws {
        let query = "from=\(Timestamp.text(Self.now - 700 * StoreProduct.day))&by=week"
        func sums(_ query: String, _ name: ChartName = .active) throws -> [Int64] {
            let answer = try answer(name, query)
            return answer.chart.tables.reduce([Int64](repeating: 0, count: answer.scope.calendar.count)) {
                sums, table in
                zip(sums, table.rows).map { $0 + ($1.values[0] ?? 0) }
            }
        }
        let whole = try answer(.active, query)
        #expect(whole.products.count > 2 && whole.currencies.count > 1 && whole.countries.count > 1)
        let all = try sums(query)
        for (name, choices) in [
            ("product", whole.products), ("currency", whole.currencies), ("country", whole.countries),
        ] {
            let parts = try choices.map { try sums("\(query)&\(name)=\($0)") }
            let sum = parts.reduce([Int64](repeating: 0, count: all.count)) { zip($0, $1).map(+) }
            #expect(sum == all, "\(name)")
        }
        let gross = try whole.countries.map { try sums("\(query)&country=\($0)", .revenue) }
        #expect(
            try gross.reduce([Int64](repeating: 0, count: all.count)) { zip($0, $1).map(+) } == sums(query, .revenue))
        let sandbox = try sums("\(query)&environment=Sandbox")
        #expect(sandbox != all && sandbox.contains { $0 <= 1 })
    }

    @Test(arguments: ChartName.allCases)
    func `CSV and JSON have the rows of the table`(name: ChartName) throws {
        let answer = try answer(name, "from=\(Timestamp.text(Self.now - 700 * StoreProduct.day))")
        let lines = answer.csv.split(separator: "\r\n").map {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        let rows = answer.chart.tables.flatMap { table in table.rows.map { (table, $0) } }
        #expect(lines.count == rows.count + 1)
        #expect(lines.first?.dropFirst(4).map(String.init) == answer.chart.series.map(\.name))
        let json = answer.json["tables"]?.arrayValue?.flatMap { $0["rows"]?.arrayValue ?? [] } ?? []
        #expect(json.count == rows.count)
        for ((table, row), (line, object)) in zip(rows, zip(lines.dropFirst(), json)) {
            #expect(line[0] == row.label && line[3] == (table.currency ?? ""))
            let texts = zip(row.values, answer.chart.series).map { value, series in
                value.map { Chart.text($0, series.unit, currency: table.currency) } ?? ""
            }
            #expect(line.dropFirst(4).map(String.init) == texts)
            let values = object["values"]?.arrayValue?.map { value in
                value.stringValue ?? value.intValue.map(String.init) ?? ""
            }
            #expect(values == texts)
        }
    }

    @Test func `a reader counts once for all charts of a scope, and says what cannot be asked for`() throws {
        let log = LogTape()
        let session = PostgresSession(installation.database.target(role: "entitled_console"), logger: log.logger)
        let reader = ChartReader(session: session, logger: log.logger)
        reader.start()
        defer { reader.drain(until: .now + .seconds(5)) }
        let direct = try answer(.mrr, "by=week")
        #expect(try answer(.mrr, "by=week", reader: reader).json == direct.json)
        let began = ContinuousClock.now
        for name in ChartName.allCases where name != .retention { _ = try answer(name, "by=week", reader: reader) }
        #expect(.now - began < .seconds(5))
        #expect(throws: DeskError.self) { try answer(.retention, "by=week", reader: reader) }
        #expect(throws: DeskError.self) { try answer(.active, "by=day&from=1000d") }
        #expect(throws: DeskError.self) { try answer(.active, "curency=EUR") }
        #expect(throws: DeskError.self) { try answer(.active, "currency=euro") }
        #expect(throws: DeskError.self) { try answer(.active, "from=2099-01") }
    }

    @Test func `without a refresh, and before the first of this program, charts say so`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_console")
        func code() throws -> String? {
            let question = try ChartQuestion(
                from: nil, to: nil, by: nil, filter: ReportFilter(), environment: .production)
            do {
                _ = try DatabaseDesk.ask(
                    DeskSettings(retrySchedule: RetrySchedule(waits: [1])), for: Viewer(user: "a", role: .read),
                    now: Self.now,
                    on: connection
                ) { try $0.chart("active", question) }
                return nil
            } catch let error as DeskError { return error.code }
        }
        #expect(try code() == "not_computed")
        try database.execute("UPDATE entitled.report_refresh SET started_ms = \(Self.now)")
        #expect(try code() == nil)
        try database.execute(
            """
            INSERT INTO entitled.report_purchase (lane, app, environment, original_transaction_id, version, updated_ms, stamp)
            VALUES (3, 'demo', 0, '1', 1, 1, 'of a former program')
            """)
        #expect(try code() == "unavailable")
    }
}
