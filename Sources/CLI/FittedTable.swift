import Base

/// A table in the width of a screen.
///
/// Columns without content are left out. Then, until it fits: times lose how long ago they were, ids are shortened in
/// the middle, columns with one and the same cell are said once above the table, times become only how long ago they
/// were, columns move together, and keys are shortened too. What still does not fit is a block of lines for each row.
struct FittedTable {
    private enum TimeForm { case both, instant, distance }

    private let whole: TextGrid
    private let screen: Screen
    private let now: Int64

    /// So few rows are better read as blocks, with their keys whole.
    private static let fewRows = 3

    init(_ grid: TextGrid, _ screen: Screen) {
        let used = grid.columns.indices.filter { column in grid.rows.contains { !$0[column].isEmpty } }
        whole = FittedTable.picking(used, of: grid)
        self.screen = screen
        now = screen.now
    }

    func text(bold: Bool) -> String {
        guard !whole.columns.isEmpty else { return "" }
        for form in [TimeForm.both, .instant] {
            if let text = fitted(times(whole, form), bold: bold) { return text }
        }
        let (shortIDs, hasShortIDs) = shortening(.id, in: whole)
        let hint = hasShortIDs ? self.hint : ""
        if let text = fitted(times(shortIDs, .instant), bold: bold) { return text + hint }
        let (common, rest) = FittedTable.hoisting(shortIDs)
        for form in [TimeForm.instant, .distance] {
            if let text = fitted(times(rest, form), bold: bold) { return heading(common) + text + hint }
        }
        var tight = times(rest, .distance)
        tight.gap = 1
        if let text = fitted(tight, bold: bold) { return heading(common) + text + hint }
        if rest.rows.count > FittedTable.fewRows {
            let (shortKeys, hasShortKeys) = shortening(.key, in: rest)
            if let text = fitted(times(shortKeys, .distance), bold: bold) {
                return heading(common) + text + (hasShortKeys ? self.hint : hint)
            }
        }
        return blocks(times(whole, .both), bold: bold)
    }

    private var hint: String {
        "\n" + paragraph("Ids are shortened to fit. A wider window, a pipe or --json shows them whole.") + "\n"
    }

    private func paragraph(_ text: String) -> String {
        text.lines(ofWidth: screen.columns).joined(separator: "\n")
    }

    private func fitted(_ grid: TextGrid, bold: Bool) -> String? {
        grid.widths(in: screen.columns).map { grid.text(bold: bold, widths: $0) }
    }

    private static func picking(_ columns: [Int], of grid: TextGrid) -> TextGrid {
        TextGrid(columns: columns.map { grid.columns[$0] }, rows: grid.rows.map { row in columns.map { row[$0] } })
    }

    // MARK: - Times

    private func times(_ grid: TextGrid, _ form: TimeForm) -> TextGrid {
        var grid = grid
        for column in grid.columns.indices where grid.columns[column].kind == .time {
            for row in grid.rows.indices {
                grid.rows[row][column] = time(grid.rows[row][column], form)
            }
        }
        return grid
    }

    private func time(_ cell: String, _ form: TimeForm) -> String {
        guard form != .instant, let instant = Timestamp.parse(cell) else { return cell }
        let distance = RelativeTime.phrase(instant, now: now)
        return form == .both ? "\(cell), \(distance)" : distance
    }

    // MARK: - Ids

    private func shortening(_ kind: TextTable.Column.Kind, in grid: TextGrid) -> (TextGrid, hasChanged: Bool) {
        var grid = grid
        var hasChanged = false
        for column in grid.columns.indices where grid.columns[column].kind == kind {
            guard let short = ShortID.shortened(grid.rows.map { $0[column] }) else { continue }
            hasChanged = true
            for row in grid.rows.indices { grid.rows[row][column] = short[row] }
        }
        return (grid, hasChanged)
    }

    // MARK: - What all rows share

    /// Columns that say the same in each row, and the table without them.
    private static func hoisting(_ grid: TextGrid) -> (common: [(heading: String, cell: String)], rest: TextGrid) {
        guard grid.rows.count > 1, let first = grid.rows.first else { return ([], grid) }
        let common = grid.columns.indices.filter { column in
            grid.columns[column].kind != .time && grid.rows.allSatisfy { $0[column] == first[column] }
        }
        let rest = grid.columns.indices.filter { !common.contains($0) }
        guard !rest.isEmpty else { return ([], grid) }
        return (common.map { (grid.columns[$0].heading, first[$0]) }, picking(rest, of: grid))
    }

    private func heading(_ common: [(heading: String, cell: String)]) -> String {
        guard !common.isEmpty else { return "" }
        return paragraph("In every row: " + common.map { "\($0.heading) \($0.cell)" }.joined(separator: ", ")) + "\n\n"
    }

    // MARK: - Blocks

    /// Each row under its key, a line for each cell with content.
    private func blocks(_ grid: TextGrid, bold: Bool) -> String {
        let title = grid.columns.firstIndex { $0.kind == .key } ?? 0
        let labels = grid.columns.indices.filter { $0 != title }
        let width = labels.map { grid.columns[$0].heading.displayWidth }.max() ?? 0
        let blocks = grid.rows.map { row in
            let name = paragraph("\(grid.columns[title].heading) \(row[title])")
            let lines = labels.filter { !row[$0].isEmpty }.flatMap { column in
                labelled(grid.columns[column].heading, row[column], width)
            }
            return ([bold ? "\u{1B}[1m\(name)\u{1B}[0m" : name] + lines).joined(separator: "\n")
        }
        return blocks.joined(separator: "\n\n") + "\n"
    }

    /// The narrowest that a cell stands beside its heading; else it stands below.
    private static let narrowestCell = 16

    private func labelled(_ heading: String, _ cell: String, _ width: Int) -> [String] {
        let room = screen.columns - width - 4
        guard room >= FittedTable.narrowestCell else {
            return ["  \(heading)"] + cell.lines(ofWidth: screen.columns - 4).map { "    \($0)" }
        }
        return cell.lines(ofWidth: room).enumerated().map { number, line in
            "  \((number == 0 ? heading : "").padded(to: width))  \(line)"
        }
    }
}

/// Ids shortened in the middle: `dlv_3f80…91ac`.
enum ShortID {
    /// The cells of a column, each id still different from the others; nil where none can be shortened.
    static func shortened(_ cells: [String]) -> [String]? {
        let distinct = Set(cells)
        for (head, tail) in [(4, 4), (8, 6), (12, 8)] {
            let short = cells.map { shortened($0, head: head, tail: tail) }
            guard Set(short).count == distinct.count else { continue }
            return short == cells ? nil : short
        }
        return nil
    }

    /// - Parameters:
    ///   - head: characters that stay after the prefix, such as `dlv_` or `$RCAnonymousID:`.
    ///   - tail: characters that stay at the end.
    private static func shortened(_ id: String, head: Int, tail: Int) -> String {
        let separator = id.prefix(16).lastIndex { $0 == "_" || $0 == ":" }
        let prefix = separator.map { id[...$0] } ?? id.prefix(0)
        let body = id.dropFirst(prefix.count)
        let kept = prefix.isEmpty ? head + 4 : head
        guard body.count > kept + tail + 4, isRandom(body) else { return id }
        return "\(prefix)\(body.prefix(kept))…\(body.suffix(tail))"
    }

    /// Whether a text was made by a machine: names and addresses are never shortened.
    private static func isRandom(_ body: Substring) -> Bool {
        body.count >= 20 && body.contains(where: \.isNumber)
            && body.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    }
}
