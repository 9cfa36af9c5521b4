import Base
import Database
import Glibc
import Postgres
import StoreSimulator
import TestSupport

/// What operators wait for beside very many customers: every list, record and search of the operator API and of the console, over
/// HTTP from a real `entitled console`; with the plans of what is slow.
struct ConsoleScenario {
    let options: BenchmarkOptions
    let folder: String

    /// ms.
    private static let goal = 100.0
    private static let pageGoal = 60_000
    private static let operatorName = "anna"

    private struct Outcome {
        let name: String
        let path: String
        var times: [Double] = []
        var bytes = 0
        var statuses: Set<Int> = []
        /// Of the slowest.
        var slowest = ""
        var isPage: Bool { path.hasPrefix("/console") }
    }

    func run() throws -> BenchmarkReport {
        let now = SystemClock().now()
        let pki = try StorePKI.generate(now: now)
        try PKIFolder("\(folder)/pki").write(pki, force: true)
        let installation = try Installation(
            program: options.entitled, root: PKIFolder("\(folder)/pki").rootPath, folder: folder)
        let consumer = try WebhookConsumer()
        defer { consumer.end() }
        var report = BenchmarkReport("console")
        let started = ContinuousClock.now
        let ids = try GrownConsole(
            installation: installation, signer: NotificationSigner(pki), now: now, consumer: consumer
        ).fill(options.customers)
        report.add("customers", Double(options.customers), "")
        for table in ["fact", "event", "delivery"] {
            report.add("\(table)_rows", Double(try installation.number("SELECT count(*) FROM entitled.\(table)")), "")
        }
        let bytes = try installation.number("SELECT pg_database_size(current_database())")
        report.add("bytes", Double(bytes) / 1e9, "GB on disk")
        report.add("filled", (ContinuousClock.now - started).seconds, "s")
        let console = try installation.start("console")
        defer { console.end() }
        let client = try Client(installation, console, now: SystemClock().now())
        report.add("load_before", ConsoleScenario.load, "processes that run, one minute's mean")
        let outcomes = ConsoleQuestions(ids: ids).all.flatMap { question in measure(question, client) }
        report.add("load_after", ConsoleScenario.load, "processes that run, one minute's mean")
        add(outcomes, to: &report)
        try explain(outcomes.filter { $0.times.percentile(0.95) > ConsoleScenario.goal / 2 }, client, installation)
        report.detail("complaints", .strings(console.complaints))
        return report
    }

    private static var load: Double {
        var mean = 0.0
        return getloadavg(&mean, 1) == 1 ? mean : 0
    }

    // MARK: - Asking

    /// An operator with a key and a session.
    private struct Client {
        let key: String
        let cookie: String
        let port: UInt16

        init(_ installation: Installation, _ console: DaemonProcess, now: Int64) throws {
            let (connection, name) = (installation.database, ConsoleScenario.operatorName)
            _ = try ConsoleUserTable.add(name, .operator, now: now, on: connection)
            guard let made = try OperatorKeyTable.create(for: name, .operator, until: nil, now: now, on: connection),
                let port = try console.address().split(separator: ":").last.flatMap({ UInt16($0) })
            else { throw BenchmarkFailure("there is no operator") }
            key = made.key.exposed
            cookie = try SessionTable.begin(
                for: name, address: "127.0.0.1", browser: "benchmarks", isByLink: true, now: now, on: connection
            ).token.exposed
            self.port = port
        }

        func ask(_ path: String) -> HTTPCall {
            let isAPI = path.hasPrefix("/operator/")
            return HTTPCall.send(
                "GET", path,
                headers: isAPI ? ["Authorization": "Bearer \(key)"] : ["Cookie": "entitled-local=\(cookie)"], to: port)
        }
    }

    private func measure(_ question: ConsoleQuestions.Question, _ client: Client) -> [Outcome] {
        var outcomes: [Outcome] = []
        let isAPI = !question.name.isEmpty && !["settings", "me"].contains(question.name)
        for root in (isAPI ? ["/operator/v1"] : []) + (question.isPage ? ["/console"] : []) {
            var outcome = Outcome(name: question.name, path: root)
            var longest = 0.0
            for round in 0..<options.rounds {
                var path = root + question.paths[round % question.paths.count]
                if root == "/operator/v1" { path = path.replacing("env=", with: "environment=") }
                let began = ContinuousClock.now
                let answer = client.ask(path)
                let time = (ContinuousClock.now - began).seconds * 1000
                outcome.times.append(time)
                outcome.bytes = max(outcome.bytes, answer.body.count)
                outcome.statuses.insert(answer.status)
                if time > longest { (longest, outcome.slowest) = (time, path) }
            }
            BenchmarksProgram.note(line(outcome))
            outcomes.append(outcome)
        }
        return outcomes
    }

    private func line(_ outcome: Outcome) -> String {
        func number(_ value: Double) -> String {
            let text = BenchmarkReport.number(value)
            return String(repeating: " ", count: max(0, 9 - text.count)) + text
        }
        let statuses = outcome.statuses.sorted().map(String.init).joined(separator: " ")
        return
            "\(number(outcome.times.min() ?? 0)) ms \(number(outcome.times.median)) ms \(number(outcome.times.percentile(0.95))) ms "
            + "\(number(Double(outcome.bytes) / 1000)) kB  \(statuses)  \(outcome.path)/\(outcome.name)"
    }

    private func add(_ outcomes: [Outcome], to report: inout BenchmarkReport) {
        let slow = outcomes.filter { $0.times.percentile(0.95) > ConsoleScenario.goal }
        let large = outcomes.filter { $0.isPage && $0.bytes > ConsoleScenario.pageGoal }
        report.add("questions", Double(outcomes.count), "")
        report.add("slowest_p95", outcomes.map { $0.times.percentile(0.95) }.max() ?? 0, "ms", wanted: "≤ 100")
        report.add("slow", Double(slow.count), "questions over 100 ms", wanted: "0")
        report.add(
            "largest_page", Double(outcomes.filter(\.isPage).map(\.bytes).max() ?? 0), "bytes", wanted: "≤ 60,000")
        report.add("large", Double(large.count), "pages over 60,000 bytes", wanted: "0")
        report.add(
            "refused", Double(outcomes.filter { !$0.statuses.isSubset(of: [200, 303]) }.count), "questions", wanted: "0"
        )
        report.detail(
            "questions",
            .array(
                outcomes.map { outcome in
                    .object([
                        "path": .string("\(outcome.path)/\(outcome.name)"),
                        "least_ms": .double(outcome.times.min() ?? 0), "p50_ms": .double(outcome.times.median),
                        "p95_ms": .double(outcome.times.percentile(0.95)), "bytes": .int(Int64(outcome.bytes)),
                        "statuses": .array(outcome.statuses.sorted().map { .int(Int64($0)) }),
                    ])
                }))
    }

    // MARK: - Plans

    /// Asks once more, and prints the plans that Postgres' extension auto_explain logs.
    private func explain(_ outcomes: [Outcome], _ client: Client, _ installation: Installation) throws {
        guard !outcomes.isEmpty else { return }
        for setting in [
            "session_preload_libraries = 'auto_explain'", "auto_explain.log_min_duration = '10ms'",
            "auto_explain.log_analyze = on", "auto_explain.log_buffers = on",
        ] {
            try installation.database.query("ALTER ROLE CURRENT_USER SET \(setting)")
        }
        // The console's connections begin anew, with these settings.
        try installation.database.query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename = current_user"
        )
        usleep(500_000)
        for _ in 0..<8 { _ = client.ask("/operator/v1/me") }
        for outcome in outcomes {
            let before = try installation.serverLog().count
            let began = ContinuousClock.now
            _ = client.ask(outcome.slowest)
            let time = (ContinuousClock.now - began).seconds * 1000
            BenchmarksProgram.note("\n\(outcome.slowest): \(BenchmarkReport.number(time)) ms")
            BenchmarksProgram.note(String(try installation.serverLog().dropFirst(before)))
        }
    }
}
