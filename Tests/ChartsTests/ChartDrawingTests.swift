import Base
import Charts
import Markup
import Testing

struct ChartDrawingTests {
    private func row(_ place: Int, _ values: [Int64?]) -> Chart.Row {
        Chart.Row(
            label: "2026-\(place < 9 ? "0" : "")\(place + 1)", from: Int64(place), to: Int64(place + 1), values: values)
    }

    private func chart(_ form: Chart.Form, _ columns: [[Int64?]], unit: Chart.Unit = .count, below: Int? = nil)
        -> Chart
    {
        let series = columns.indices.map {
            Chart.Series("s\($0)", "Series \($0)", unit, $0 == below ? .below : .above)
        }
        let rows = (columns.first ?? []).indices.map { place in row(place, columns.map { $0[place] }) }
        return Chart("test", "A test", form, series: series, tables: [Chart.Table(currency: "EUR", rows: rows)])
    }

    private func text(_ chart: Chart) throws -> String {
        let table = try #require(chart.tables.first)
        let node = try #require(ChartDrawing(chart, table, subject: "EUR").node)
        return String(decoding: HTMLRenderer.fragment(node), as: UTF8.self)
    }

    /// What a place in a drawing stands for, by the marks of the axis.
    private func value(_ y: Double, _ axis: (low: Int64, yLow: Double, high: Int64, yHigh: Double)) -> Double {
        Double(axis.low) + (axis.yLow - y) / (axis.yLow - axis.yHigh) * Double(axis.high - axis.low)
    }

    private func axis(_ chart: Chart, _ text: String) throws -> (low: Int64, yLow: Double, high: Int64, yHigh: Double) {
        let table = try #require(chart.tables.first)
        let scale = ChartDrawing(chart, table, subject: "").scale
        // Marks go across the drawing; those of the legend are short.
        let lines = text.matches(of: #/<line class="(grid|base)" x1="[^"]*" y1="([^"]*)"/#).compactMap {
            Double($0.output.2)
        }
        #expect(lines.count == scale.ticks.count)
        return (scale.low, try #require(lines.first), scale.high, try #require(lines.last))
    }

    @Test(arguments: 0..<UInt64(30))
    func `the points of lines are the numbers of the table`(seed: UInt64) throws {
        var state = seed
        func next(_ most: Int64) -> Int64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int64(state >> 33) % most
        }
        let sizes: [Int64] = [3, 40, 9_999, 40_000_000]
        let size = sizes[Int(next(4))]
        let columns = (0..<3).map { _ in (0..<Int(next(30) + 1)).map { _ in next(size) + 1 } }
        let count = columns.map(\.count).min() ?? 1
        let values: [[Int64?]] = columns.map { Array($0.prefix(count)) }
        let chart = chart(.line, values, unit: .money)
        let text = try text(chart)
        let axis = try axis(chart, text)
        let lines = text.matches(of: #/<polyline class="curve" points="([^"]*)"/#).map { match in
            match.output.1.split(separator: " ").compactMap { pair -> Double? in
                pair.split(separator: ",").last.flatMap { Double($0) }
            }
        }
        #expect(lines.count == 3)
        let tolerance = Double(axis.high - axis.low) / (axis.yLow - axis.yHigh) * 0.15
        for (line, column) in zip(lines, values) {
            #expect(line.count == column.count)
            for (y, wanted) in zip(line, column) {
                #expect(abs(value(y, axis) - Double(try #require(wanted))) <= tolerance)
            }
        }
    }

    @Test func `the bars of a stack are the numbers of the table, and what is lost goes below zero`() throws {
        let chart = chart(.stack, [[5, 0, 7], [3, 4, nil], [2, 9, 1]], below: 2)
        let text = try text(chart)
        let axis = try axis(chart, text)
        let bars = text.matches(
            of:
                #/<rect class="block tone-([a-h])" fill="url\(#pattern-(\d)\)" x="[^"]*" y="([^"]*)" width="([^"]*)" height="([^"]*)"/#
        )
        .compactMap { match -> (series: Int, low: Double, high: Double, width: Double)? in
            guard let series = Int(match.output.2), let y = Double(match.output.3), let width = Double(match.output.4),
                let height = Double(match.output.5)
            else { return nil }
            return (series, value(y + height, axis), value(y, axis), width)
        }.filter { $0.width > 20.05 }
        let wanted: [(series: Int, low: Double, high: Double)] = [
            (0, 0, 5), (1, 5, 8), (2, -2, 0), (1, 0, 4), (2, -9, 0), (0, 0, 7), (2, -1, 0),
        ]
        #expect(bars.count == wanted.count)
        for (bar, wanted) in zip(bars, wanted) {
            #expect(bar.series == wanted.series)
            #expect(abs(bar.low - wanted.low) < 0.05 && abs(bar.high - wanted.high) < 0.05, "\(bar) \(wanted)")
        }
    }

    @Test func `a line is broken where a number is missing`() throws {
        let chart = chart(.line, [[1, nil, 3, 4]])
        #expect(try text(chart).matches(of: #/<polyline/#).count == 2)
    }

    @Test func `cohorts have their share of the first column in every cell, and nothing where there is none`() throws {
        let chart = Chart(
            "retention", "Retention", .heat,
            series: [Chart.Series("number", "Number"), Chart.Series("m0", "0"), Chart.Series("m1", "1")],
            tables: [Chart.Table(rows: [row(0, [8, 8, 3]), row(1, [0, 0, nil]), row(2, [3, 2, nil])])])
        let cells = try text(chart).matches(of: #/middle">(\d+) %</#).map { Int($0.output.1) }
        #expect(cells == [100, 38, 67])
    }

    @Test(arguments: Chart.Form.allCases)
    func `a drawing says what it is, and has neither styles nor scripts, whatever its texts are`(form: Chart.Form)
        throws
    {
        let hostile = "\"><script>\u{202E}'"
        let columns: [Int64?] = [1, 2]
        let chart = Chart(
            "x", hostile, form, series: (0..<9).map { Chart.Series("s\($0)", "\(hostile)\($0)") },
            tables: [
                Chart.Table(
                    currency: hostile,
                    rows: columns.enumerated().map { place, value in
                        Chart.Row(label: hostile, from: 0, to: 1, values: [Int64?](repeating: value, count: 9))
                    })
            ])
        let table = try #require(chart.tables.first)
        let node = try #require(ChartDrawing(chart, table, subject: hostile).node)
        let text = String(decoding: HTMLRenderer.fragment(node), as: UTF8.self)
        #expect(text.hasPrefix("<svg viewBox=\"0 0 "))
        #expect(text.contains(" role=\"img\" aria-label="))
        #expect(text.contains("<title>") && text.contains("<desc>"))
        #expect(!text.contains("style=") && !text.contains("<script") && !text.contains("\u{202E}"))
        // Dashes or patterns tell apart what colour tells apart.
        if form == .line { #expect(Set(text.matches(of: #/stroke-dasharray="([^"]*)"/#).map(\.output.1)).count == 7) }
        if form == .stack { #expect(Set(text.matches(of: #/fill="url\(#pattern-(\d)\)"/#).map(\.output.1)).count == 9) }
    }

    @Test func `nothing is drawn of nothing, and zeros and the greatest numbers have an axis`() throws {
        let empty = Chart("x", "X", .line, series: [Chart.Series("a", "A")], tables: [Chart.Table(rows: [])])
        #expect(ChartDrawing(empty, empty.tables[0], subject: "").node == nil)
        for values: [Int64] in [[0], [0, 0], [.max], [.max, .min], [-5], [1], [10_000]] {
            let scale = ChartScale(values)
            #expect(scale.ticks.count >= 2 && scale.ticks.count <= 12, "\(values)")
            #expect(scale.ticks.contains(0) || values.contains(.max))
            #expect(zip(scale.ticks, scale.ticks.dropFirst()).allSatisfy { $0 < $1 })
        }
        #expect(ChartScale([3, 17]).ticks == [0, 5, 10, 15, 20])
        #expect(ChartScale([40, -12]).ticks == [-20, 0, 20, 40])
    }

    @Test func `numbers are exact, money with the digits of its currency`() {
        #expect(Chart.text(4800, .money, currency: "EUR") == "4.80")
        #expect(Chart.text(500_000, .money, currency: "JPY") == "500")
        #expect(Chart.text(-1234, .money, currency: "USD") == "-1.234")
        #expect(Chart.text(1, .percent, currency: nil) == "0.01")
        #expect(Chart.text(12_345, .percent, currency: nil) == "123.45")
        #expect(Chart.percent(1, of: 3) == 3333)
        #expect(Chart.percent(2, of: 3) == 6667)
        #expect(Chart.percent(1, of: 0) == nil)
        #expect(Chart.percent(.max, of: .max) == 10_000)
    }
}
