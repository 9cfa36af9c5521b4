import Base
import Daemon
import Foundation
import TestSupport
import Testing

/// The Grafana dashboards: their files, and that their queries are such.
@Suite struct DashboardTests {
    private static func file(_ dashboard: Dashboard) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "deploy/grafana/\(dashboard.uid).json")
    }

    private var queries: [String] {
        Dashboard.all.flatMap(\.rows).flatMap(\.panels).flatMap(\.queries).map(\.expression)
    }

    private func written(_ dashboard: Dashboard) throws -> Data {
        let value = try JSONSerialization.jsonObject(with: Data(dashboard.document.bytes))
        return try JSONSerialization.data(withJSONObject: value, options: [.prettyPrinted, .sortedKeys])
            + Data("\n".utf8)
    }

    /// The file is written when `UPDATE_GENERATED` is set.
    @Test func `the file is that of the table`() throws {
        for dashboard in Dashboard.all {
            let file = Self.file(dashboard)
            if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" { try written(dashboard).write(to: file) }
            #expect(
                try Data(contentsOf: file) == written(dashboard),
                "write it again with UPDATE_GENERATED=1 swift test --filter DashboardTests, and read what changed")
        }
    }

    @Test func `every query reads metrics that there are, by labels that they have`() {
        for query in queries where !query.contains("ALERTS") {
            let read = query.matches(of: /entitled_[a-z_]+/).map { String($0.output) }
            let metrics = read.compactMap { name in
                Metric.all.first { metric in
                    if case .histogram = metric.kind { return name == metric.name + "_bucket" }
                    return name == metric.name
                }
            }
            #expect(metrics.count == read.count && !metrics.isEmpty, "\(query)")
            let labels = query.matches(of: /by \(([^)]*)\)/).flatMap {
                $0.output.1.split(separator: ", ").map(String.init)
            }
            let known = Set(metrics.flatMap(\.labels)).union(["le"])
            #expect(Set(labels).isSubset(of: known), "\(query)")
        }
    }

    @Test(arguments: Dashboard.all.indices)
    func `panels lie beside and below each other, and each says what it shows`(place: Int) throws {
        let dashboard = Dashboard.all[place]
        let panels = try #require(dashboard.document["panels"]?.arrayValue)
        var taken: Set<String> = []
        for panel in panels {
            let place = try #require(panel["gridPos"])
            func number(_ name: String) -> Int64 { place[name]?.intValue ?? -1 }
            #expect(number("x") + number("w") <= 24)
            for x in number("x")..<(number("x") + number("w")) {
                for y in number("y")..<(number("y") + number("h")) { #expect(taken.insert("\(x) \(y)").inserted) }
            }
        }
        #expect(Set(panels.map { $0["id"]?.intValue }).count == panels.count)
        for panel in dashboard.rows.flatMap(\.panels) {
            #expect(panel.meaning.hasSuffix("."), "\(panel.title)")
        }
    }

    @Test(.enabled(if: Promtool.path != nil, "skipped: no promtool; run deploy/promtool"))
    func `Prometheus reads the queries`() throws {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let rules = JSON.object([
            "groups": .array([
                .object([
                    "name": .string("dashboard"),
                    "rules": .array(
                        queries.enumerated().map { number, query in
                            .object([
                                "record": .string("panel:\(number)"),
                                "expr": .string(query.replacing("$__rate_interval", with: "5m")),
                            ])
                        }),
                ])
            ])
        ])
        let file = "\(folder)/rules.yml"
        try rules.text.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(try Promtool.run(["check", "rules", file]).contains("SUCCESS: \(queries.count) rules found"))
    }
}
