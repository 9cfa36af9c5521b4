import Base
import Crypto
import Daemon
import FoundationEssentials
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// What alarms and dashboards read is there from the start of a process, so that the first failure is an increase.
@Suite(.enabled(if: Program.isBuilt, "skipped: the program is not built"))
struct AlarmSeriesTests {
    /// What cannot be there at once, and why.
    private static let late: [String: String] = [
        Metric.certificateEnds.name: "only listeners with TLS have certificates",
        Metric.reconcileAge.name: "the leader knows it once it has looked into the database",
        Metric.statusLooks.name: "as reconcileAge", Metric.accountLooksDue.name: "as reconcileAge",
        Metric.reconcileRefused.name: "the reasons are those of what is found",
        Metric.retentionDaysAhead.name: "the leader counts partitions in its first run; 0 would fire the alarm",
        Metric.retentionStrayRows.name: "as retentionDaysAhead", Metric.retentionKept.name: "as retentionDaysAhead",
        Metric.privateDatabaseRestarts.name: "only `run` with its own Postgres has one",
        Metric.subscriptions.name: "only with reports.refresh, after the first refresh; 0 would be wrong",
        Metric.monthlyRevenue.name: "as subscriptions",
        Metric.clusterServers.name: "only where tables are distributed over several servers",
        Metric.clusterPreparedSeconds.name: "as clusterServers",
    ]

    /// What a worker measures at its first look.
    private static let measured = [
        Metric.lanesOwned, .pendingOldestSeconds, .divertedOldestSeconds, .heldNow, .timersOverdue, .outages,
        .deliveriesPastDue,
        .deliveriesBlockedSeconds, .endpointsFailing, .clockDifference,
    ]

    private struct Series {
        let name: String
        let labels: [String: String]

        init?(line: Substring) {
            guard let found = line.firstMatch(of: /^(entitled_[a-z_]+)(?:\{(.*)\})? \S+$/) else { return nil }
            name = String(found.1)
            let pairs = (found.2 ?? "").matches(of: /([a-z_]+)="([^"]*)"/).map { (String($0.1), String($0.2)) }
            labels = Dictionary(pairs) { first, _ in first }
        }

        /// Whether a selector such as `{outcome!="delivered"}` takes it.
        func fits(_ name: String, _ selector: Substring) throws -> Bool {
            guard self.name == name else { return false }
            for match in selector.matches(of: /([a-z_]+)(=~|!=|=)"([^"]*)"/) {
                let value = labels[String(match.1)] ?? ""
                let isEqual = value == match.3
                switch match.2 {
                case "=": if !isEqual { return false }
                case "!=": if isEqual { return false }
                default:
                    guard try value.wholeMatch(of: Regex("(?:\(match.3))")) != nil else { return false }
                }
            }
            return true
        }
    }

    private func site() throws -> Site {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        let key = "\(site.folder)/AuthKey.p8"
        try SigningKey.generate(.p256).pem().write(toFile: key, atomically: true, encoding: .utf8)
        chmod(key, 0o600)
        try site.configure([
            "apps": .array([
                .object([
                    "id": .string("demo"), "bundle_id": .string(Site.app.bundleID),
                    "apple_app_id": .int(Site.app.appleAppID), "refunds": .object(["policy": .string("ask")]),
                    "server_api": .object([
                        "issuer_id": .string("57246542-96fe-1a63-e053-0824d011072a"), "key_id": .string("KEY1234567"),
                        "private_key_file": .string(key), "base_url": .string("http://127.0.0.1:1"),
                    ]),
                ])
            ])
        ])
        return site
    }

    @Test func `every series that an alarm or a dashboard reads is there in the first scrape`() throws {
        let site = try site()
        var series: [Series] = []
        for role in ["ingest", "worker", "api", "console"] {
            let program = try site.start(role)
            // Longer than what the site's client keeps of an answer.
            let address = try program.address("admin")
            let port = try #require(address.split(separator: ":").last.flatMap { UInt16($0) })
            let text = HTTPCall.send("GET", "/metrics", to: port).text
            series += text.split(separator: "\n").compactMap(Series.init)
            if role == "worker" {
                // Gauges are there from the first look on, which is within seconds.
                var measured: [Series] = []
                try eventually("the worker has measured its lanes") {
                    measured = HTTPCall.send("GET", "/metrics", to: port).text.split(separator: "\n")
                        .compactMap(Series.init)
                    return Self.measured.allSatisfy { metric in measured.contains { $0.name == metric.name } }
                }
                series += measured.filter { found in Self.measured.contains { $0.name == found.name } }
            }
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
        let queries =
            Alarm.all.map { ($0.name, $0.condition) }
            + Dashboard.business.rows.flatMap(\.panels).flatMap { panel in
                panel.queries.map { (panel.title, $0.expression) }
            }
        for (name, query) in queries {
            for match in query.matches(of: /(entitled_[a-z_]+)(\{[^}]*\})?/) {
                let metric = String(match.1)
                guard Self.late[metric] == nil else { continue }
                let isThere = try series.contains { try $0.fits(metric, match.2 ?? "") }
                #expect(isThere, "\(name): \(match.0)")
            }
        }
        // What is an exception is one still.
        for metric in Self.late.keys { #expect(!series.contains { $0.name == metric }, "\(metric)") }
    }
}
