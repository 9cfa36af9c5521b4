import Base
import Markup

/// Draws a table of a chart. Series differ by dashes or patterns and by their labels, never by colour alone; the numbers stand in
/// the table, and the drawing says so to whom it is not visible.
package struct ChartDrawing: Sendable {
    package static let width = 760.0
    private static let height = 300.0
    private static let left = 74.0
    private static let right = 14.0
    private static let foot = 30.0
    private static let rowHeight = 20.0

    let chart: Chart
    let table: Chart.Table
    /// What the drawing is about, such as `MRR, EUR, 2026-01-01 to 2026-11-01`.
    let subject: String

    package init(_ chart: Chart, _ table: Chart.Table, subject: String) {
        (self.chart, self.table, self.subject) = (chart, table, subject)
    }

    /// Nil where there is nothing to draw.
    package var node: Node? {
        guard !table.rows.isEmpty else { return nil }
        switch chart.form {
        case .line, .stack: return plot
        case .heat: return heat
        }
    }

    /// The series that are drawn, with their places among all: those that are more than zeros, where any is.
    package var drawn: [(place: Int, series: Chart.Series)] {
        let all = chart.series.indices.filter { chart.series[$0].place != .none }
        let some = all.filter { place in table.rows.contains { ($0.values[place] ?? 0) != 0 } }
        return (some.isEmpty ? all : some).map { (place: $0, series: chart.series[$0]) }
    }

    package static let tones: [StyleClass] = [.toneA, .toneB, .toneC, .toneD, .toneE, .toneF, .toneG, .toneH]
    private static let dashes: [[Int]] = [
        [], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [12, 4], [1, 4], [6, 2, 2, 2],
    ]

    private static func tone(_ number: Int) -> StyleClass { tones[(number + number / tones.count) % tones.count] }

    // MARK: - Lines and stacks

    /// Where values stand: as large as what is drawn.
    package var scale: ChartScale {
        let least: Int64 = drawn.first?.series.unit == .money ? 10 : 1
        let values = table.rows.flatMap { row -> [Int64] in
            guard chart.form == .stack else { return drawn.compactMap { row.values[$0.place] } }
            return stack(row).flatMap { [$0.from, $0.to] }
        }
        return ChartScale(values, least: least)
    }

    /// The parts of a bar, in the order of the series: what is above goes up from zero, what is below goes down.
    private func stack(_ row: Chart.Row) -> [(number: Int, from: Int64, to: Int64)] {
        var (up, down): (Int64, Int64) = (0, 0)
        return drawn.enumerated().map { number, item in
            let value = row.values[item.place] ?? 0
            let isUp = (item.series.place == .above) == (value >= 0)
            let length = Int64(clamping: value.magnitude)
            let from = isUp ? up : down
            let to = isUp ? up.addingReportingOverflow(length) : down.subtractingReportingOverflow(length)
            let end = to.overflow ? from : to.partialValue
            if isUp { up = end } else { down = end }
            return (number, from, end)
        }
    }

    private struct Frame {
        let top: Double
        let bottom: Double
        let band: Double

        func x(_ place: Int) -> Double { ChartDrawing.left + (Double(place) + 0.5) * band }
        func y(_ share: Double) -> Double { bottom - share * (bottom - top) }
    }

    private var plot: Node {
        let places = ChartDrawing.legend(drawn.map(\.series.label))
        let lines = (places.last?.line ?? 0) + 1
        let top = Double(lines) * ChartDrawing.rowHeight + 12
        let frame = Frame(
            top: top, bottom: top + ChartDrawing.height - ChartDrawing.foot - 40,
            band: (ChartDrawing.width - ChartDrawing.left - ChartDrawing.right) / Double(table.rows.count))
        let scale = scale
        return svg(height: frame.bottom + ChartDrawing.foot) {
            if chart.form == .stack { patterns }
            legend(places)
            axis(frame, scale)
            labels(frame)
            if chart.form == .stack { bars(frame, scale) } else { curves(frame, scale) }
        }
    }

    private func svg(height: Double, width: Double = ChartDrawing.width, @MarkupBuilder content: () -> [Node]) -> Node {
        Tag.svg(.viewBox(width: width, height: height), .role(.image), .spoken("\(chart.title): \(subject)")) {
            Tag.title { Node.shown("\(chart.title): \(subject)") }
            Tag.desc { Node.shown(summary) }
            content()
        }
    }

    /// What is seen in a few words; the numbers are in the table.
    package var summary: String {
        guard let first = table.rows.first, let last = table.rows.last else { return "There is nothing to draw." }
        let ends = drawn.prefix(8).compactMap { item -> String? in
            guard let value = last.values[item.place] else { return nil }
            return "\(item.series.label) \(Chart.text(value, item.series.unit, currency: table.currency))"
        }
        let span = "From \(first.label) to \(last.label)"
        let told = chart.form == .heat || ends.isEmpty ? "" : "; at the end: \(ends.joined(separator: ", "))"
        return "\(span)\(told). The table below has every number."
    }

    private static func legend(_ labels: [String]) -> [(x: Double, line: Int)] {
        var (x, line) = (left, 0)
        return labels.map { label in
            let width = Double(label.count) * 7 + 44
            if x > left, x + width > ChartDrawing.width { (x, line) = (left, line + 1) }
            defer { x += width }
            return (x, line)
        }
    }

    private func legend(_ places: [(x: Double, line: Int)]) -> Node {
        .group(
            zip(drawn, places).enumerated().map { number, item in
                let ((_, series), (x, line)) = item
                let middle = Double(line) * ChartDrawing.rowHeight + 10
                let swatch =
                    chart.form == .stack
                    ? bar(number, x: x, y: middle - 5, width: 20, height: 10)
                    : Tag.line(
                        .classes(.curve, ChartDrawing.tone(number)), .at(.x1, x), .at(.y1, middle), .at(.x2, x + 22),
                        .at(.y2, middle), .dashes(ChartDrawing.dashes[number % ChartDrawing.dashes.count]))
                return .group([swatch, Tag.text(.at(.x, x + 28), .at(.y, middle + 4)) { Node.shown(series.label) }])
            })
    }

    private func axis(_ frame: Frame, _ scale: ChartScale) -> Node {
        let unit = drawn.first?.series.unit ?? .count
        return .group(
            scale.ticks.map { tick in
                let y = frame.y(scale.share(of: tick))
                return .group([
                    Tag.line(
                        .classes(tick == 0 ? .base : .grid), .at(.x1, ChartDrawing.left), .at(.y1, y),
                        .at(.x2, ChartDrawing.width - ChartDrawing.right), .at(.y2, y)),
                    Tag.text(.classes(.axis), .at(.x, ChartDrawing.left - 8), .at(.y, y + 4), .anchor(.end)) {
                        Node.shown(ChartDrawing.mark(tick, unit))
                    },
                ])
            })
    }

    /// A round value in little room: `12k`.
    static func mark(_ value: Int64, _ unit: Chart.Unit) -> String {
        let (whole, rest): (Int64, Int64) =
            switch unit {
            case .count: (value, 0)
            case .money: value.quotientAndRemainder(dividingBy: 1000)
            case .percent: value.quotientAndRemainder(dividingBy: 100)
            }
        let suffix = unit == .percent ? " %" : ""
        if rest != 0 { return Chart.text(value, unit, currency: nil) + suffix }
        for (size, letter): (Int64, String) in [(1_000_000_000, "G"), (1_000_000, "M"), (1000, "k")]
        where whole.magnitude >= UInt64(size) * 10 && whole % (size / 10) == 0 {
            let (units, tenths) = (whole / (size / 10)).quotientAndRemainder(dividingBy: 10)
            return "\(units)\(tenths == 0 ? "" : ".\(tenths.magnitude)")\(letter)\(suffix)"
        }
        return "\(whole)\(suffix)"
    }

    private func labels(_ frame: Frame) -> Node {
        let widest = table.rows.map(\.label.count).max() ?? 7
        let room = Double(widest) * 6.6 + 14
        let every = max(1, Int((room / frame.band).rounded(.up)))
        return .group(
            table.rows.enumerated().filter { $0.offset % every == 0 }.map { place, row in
                let half = room / 2 - 7
                let x = min(max(frame.x(place), ChartDrawing.left - 30 + half), ChartDrawing.width - half)
                return Tag.text(.classes(.axis), .at(.x, x), .at(.y, frame.bottom + 18), .anchor(.middle)) {
                    Node.shown(row.label)
                }
            })
    }

    // MARK: - Lines

    /// The points of a series, one line for each time that has values.
    package func lines(of place: Int, x: (Int) -> Double, y: (Int64) -> Double) -> [[(x: Double, y: Double)]] {
        var lines: [[(x: Double, y: Double)]] = [[]]
        for (number, row) in table.rows.enumerated() {
            if let value = row.values[place] {
                lines[lines.count - 1].append((x(number), y(value)))
            } else if lines.last?.isEmpty == false {
                lines.append([])
            }
        }
        return lines.filter { !$0.isEmpty }
    }

    private func curves(_ frame: Frame, _ scale: ChartScale) -> Node {
        .group(
            drawn.enumerated().map { number, item in
                let lines = lines(of: item.place, x: frame.x) { frame.y(scale.share(of: $0)) }
                let dots = table.rows.count <= 40 || lines.contains { $0.count == 1 }
                return Tag.g(.classes(ChartDrawing.tone(number))) {
                    for line in lines {
                        Tag.polyline(
                            .classes(.curve), .points(line),
                            .dashes(ChartDrawing.dashes[number % ChartDrawing.dashes.count]))
                        if dots {
                            for point in line {
                                Tag.circle(.classes(.dot), .at(.cx, point.x), .at(.cy, point.y), .at(.r, 2.5))
                            }
                        }
                    }
                }
            })
    }

    // MARK: - Bars

    private func bars(_ frame: Frame, _ scale: ChartScale) -> Node {
        let gap = frame.band > 6 ? min(frame.band * 0.25, 14) : 0
        return .group(
            table.rows.enumerated().flatMap { place, row in
                stack(row).filter { $0.from != $0.to }.map { part in
                    let (a, b) = (frame.y(scale.share(of: part.from)), frame.y(scale.share(of: part.to)))
                    return bar(
                        part.number, x: frame.x(place) - frame.band / 2 + gap / 2, y: min(a, b),
                        width: frame.band - gap, height: abs(a - b))
                }
            })
    }

    private func bar(_ number: Int, x: Double, y: Double, width: Double, height: Double) -> Node {
        Tag.rect(
            .classes(.block, ChartDrawing.tone(number)), .fill(pattern: number), .at(.x, x), .at(.y, y),
            .at(.width, width), .at(.height, height))
    }

    /// One for each series: plain, and hatched in several ways.
    private var patterns: Node {
        Tag.defs {
            for number in drawn.indices {
                Tag.pattern(
                    .patternID(number), .patternInUserSpace, .classes(ChartDrawing.tone(number)), .at(.width, 8),
                    .at(.height, 8)
                ) {
                    Tag.rect(
                        .classes(.fill), .at(.width, 8), .at(.height, 8),
                        .opacity(number == 0 ? 1 : number == 7 ? 0.05 : 0.28))
                    ChartDrawing.hatch(number)
                }
            }
        }
    }

    private static func hatch(_ number: Int) -> Node {
        func stroke(_ points: (Double, Double)...) -> Node {
            Tag.path(.classes(.curve), .shape(points.map { ($0.0, $0.1) }))
        }
        func dot(_ x: Double, _ y: Double) -> Node {
            Tag.circle(.classes(.dot), .at(.cx, x), .at(.cy, y), .at(.r, 1.4))
        }
        switch number % 8 {
        case 1: return stroke((0, 8), (8, 0))
        case 2: return .group([dot(2, 2), dot(6, 6)])
        case 3: return stroke((0, 4), (8, 4))
        case 4: return .group([stroke((0, 8), (8, 0)), stroke((0, 0), (8, 8))])
        case 5: return stroke((4, 0), (4, 8))
        case 6: return stroke((0, 0), (8, 8))
        default: return .none
        }
    }

    // MARK: - Cohorts

    private static let cell = 36.0
    private static let line = 22.0

    private var heat: Node {
        let columns = max(0, chart.series.count - 1)
        let start = ChartDrawing.left + 56
        let width = max(ChartDrawing.width, start + Double(columns) * ChartDrawing.cell + ChartDrawing.right)
        let cell = max(ChartDrawing.cell, min(72, (width - start - ChartDrawing.right) / Double(max(1, columns))))
        return svg(height: Double(table.rows.count + 1) * ChartDrawing.line + 12, width: width) {
            Tag.text(.classes(.axis), .at(.x, start - 8), .at(.y, 15), .anchor(.end)) { "number" }
            for column in 0..<columns {
                Tag.text(
                    .classes(.axis), .at(.x, start + (Double(column) + 0.5) * cell), .at(.y, 15), .anchor(.middle)
                ) { String(column) }
            }
            for (number, row) in table.rows.enumerated() {
                let y = Double(number + 1) * ChartDrawing.line
                Tag.text(.classes(.axis), .at(.x, ChartDrawing.left - 8), .at(.y, y + 15), .anchor(.end)) {
                    Node.shown(row.label)
                }
                let size = row.values.first.flatMap(\.self) ?? 0
                Tag.text(.classes(.axis), .at(.x, start - 8), .at(.y, y + 15), .anchor(.end)) { String(size) }
                for column in 0..<columns {
                    if let value = row.values[column + 1], let share = Chart.percent(value, of: size) {
                        heatCell(share, x: start + Double(column) * cell, y: y, width: cell)
                    }
                }
            }
        }
    }

    /// The stronger the more.
    private func heatCell(_ share: Int64, x: Double, y: Double, width: Double) -> Node {
        .group([
            Tag.rect(
                .classes(.fill, .toneA), .opacity(0.04 + 0.41 * Double(share) / 10_000), .at(.x, x + 1), .at(.y, y + 1),
                .at(.width, width - 2), .at(.height, ChartDrawing.line - 2)),
            Tag.text(.at(.x, x + width / 2), .at(.y, y + 15), .anchor(.middle)) { "\((share + 50) / 100) %" },
        ])
    }
}
