import Daemon
import FoundationEssentials
import Testing

@Suite struct MetricsTests {
    private static let fruit = Metric("fruit_total", .counter, labels: ["kind"], "Fruit that\ncame, by \\ kind.")

    @Test func `a counter adds up under each combination of labels`() {
        let metrics = Metrics()
        metrics.count(Self.fruit, ["kind": "apple"])
        metrics.count(Self.fruit, ["kind": "apple"], by: 2)
        metrics.count(Self.fruit, ["kind": "pear"], by: 0.5)
        #expect(
            metrics.exposition() == """
                # HELP fruit_total Fruit that\\ncame, by \\\\ kind.
                # TYPE fruit_total counter
                fruit_total{kind="apple"} 3
                fruit_total{kind="pear"} 0.5

                """)
    }

    @Test func `labels cannot break out of their quotes`() {
        let metrics = Metrics()
        metrics.count(Self.fruit, ["kind": "a\"} 1\nb\\"])
        #expect(metrics.exposition().contains("fruit_total{kind=\"a\\\"} 1\\nb\\\\\"} 1\n"))
    }

    @Test func `a gauge keeps the last value, also what is no number`() {
        let metrics = Metrics()
        let gauge = Metric("heat", .gauge, "Heat.")
        for (value, text) in [(1.5, "1.5"), (.nan, "NaN"), (.infinity, "+Inf"), (-.infinity, "-Inf"), (-2, "-2")] {
            metrics.gauge(gauge, value)
            #expect(metrics.exposition() == "# HELP heat Heat.\n# TYPE heat gauge\nheat \(text)\n")
        }
    }

    @Test func `a histogram counts into every bucket that is large enough`() {
        let metrics = Metrics()
        let sizes = Metric("size", .histogram([1, 2.5]), labels: ["kind"], "Sizes.")
        for value in [0.5, 2, 7] { metrics.observe(sizes, value, ["kind": "a"]) }
        metrics.observe(sizes, .milliseconds(2500), ["kind": "a"])
        #expect(
            metrics.exposition() == """
                # HELP size Sizes.
                # TYPE size histogram
                size_bucket{kind="a",le="1"} 1
                size_bucket{kind="a",le="2.5"} 3
                size_bucket{kind="a",le="+Inf"} 4
                size_sum{kind="a"} 12
                size_count{kind="a"} 4

                """)
    }

    @Test func `what is collected is asked for at each look`() {
        let metrics = Metrics()
        metrics.collect { $0.count(Self.fruit, ["kind": "apple"]) }
        _ = metrics.exposition()
        #expect(metrics.exposition().contains("fruit_total{kind=\"apple\"} 2\n"))
    }
}

/// The one table of metrics, and what is written after it.
@Suite struct MetricTableTests {
    private static let package = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    @Test func `names are their own, and say their kind and unit`() {
        #expect(Set(Metric.all.map(\.name)).count == Metric.all.count)
        for metric in Metric.all {
            #expect(metric.name.hasPrefix("entitled_"))
            #expect(metric.name.utf8.allSatisfy { $0 == 0x5f || (0x61...0x7a).contains($0) })
            #expect(metric.name.hasSuffix("_total") == (metric.kind == .counter), "\(metric.name)")
            #expect(metric.meaning.hasSuffix("."), "\(metric.name)")
        }
    }

    /// The rows are written from the table when `UPDATE_GENERATED` is set.
    @Test func `the page of metrics ends with the table`() throws {
        let file = Self.package.appending(path: "Sources/EntitledApp/EntitledApp.docc/Metrics.md")
        let heading = "\n|---|---|---|---|\n"
        let table = heading + Metric.all.map(\.row).joined(separator: "\n") + "\n"
        if ProcessInfo.processInfo.environment["UPDATE_GENERATED"] == "1" {
            let text = try String(contentsOf: file, encoding: .utf8)
            let introduction = try #require(text.firstRange(of: heading)).lowerBound
            try Data((text[..<introduction] + table).utf8).write(to: file)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        #expect(
            text.hasSuffix(table),
            "write it again with UPDATE_GENERATED=1 swift test --filter MetricTableTests, and read what changed")
        #expect(text.split(separator: "\n").count { $0.hasPrefix("| `entitled_") } == Metric.all.count)
    }

    /// A name beside the table would have no meaning, no row in the page of metrics and no alarm.
    @Test func `no code names a metric beside the table`() throws {
        let sources = Self.package.appending(path: "Sources").path
        for file in try FileManager.default.subpathsOfDirectory(atPath: sources) where file.hasSuffix(".swift") {
            guard !file.hasSuffix("MetricTable.swift") else { continue }
            let text = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
            #expect(text.firstMatch(of: /Metric\(\s*"/) == nil, "\(file)")
        }
    }
}
