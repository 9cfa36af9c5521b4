/// Rows under headings. In a file or a pipe every column is there and as wide as it needs to be; on a screen the table
/// is fitted to its width (`FittedTable`).
package struct TextTable: Sendable {
    /// A heading, and what its cells may lose to fit.
    package struct Column: Sendable, ExpressibleByStringLiteral {
        enum Kind: Sendable {
            case text
            /// An id that names a row for other commands.
            case key
            case id
            case time
            case number
            case prose
        }

        let heading: String
        let kind: Kind

        private init(_ heading: String, _ kind: Kind) {
            self.heading = heading
            self.kind = kind
        }

        package init(stringLiteral heading: String) {
            self.init(heading, .text)
        }

        /// The id by which other commands take the row: the last to be shortened.
        package static func key(_ heading: String) -> Column { Column(heading, .key) }
        /// An id, which may be shortened in the middle.
        package static func id(_ heading: String) -> Column { Column(heading, .id) }
        /// Instants in ISO 8601, shown on a screen with how long ago they were; other texts stay.
        package static func time(_ heading: String) -> Column { Column(heading, .time) }
        /// Right-aligned.
        package static func number(_ heading: String) -> Column { Column(heading, .number) }
        /// Sentences and lists, which may take several lines.
        package static func prose(_ heading: String) -> Column { Column(heading, .prose) }
    }

    private let columns: [Column]
    private var rows: [[String]] = []

    package init(_ columns: [Column]) {
        self.columns = columns
    }

    /// Cells are shown on one line; missing cells are empty, and surplus cells are left out.
    package mutating func add(_ cells: [String]) {
        rows.append(columns.indices.map { $0 < cells.count ? Terminal.harmless(cells[$0]) : "" })
    }

    package var isEmpty: Bool { rows.isEmpty }

    /// Lines without white space at their ends; headings in capitals.
    ///
    /// - Parameter screen: nil for a file or a pipe.
    package func text(bold: Bool = false, on screen: Screen? = nil) -> String {
        let grid = TextGrid(columns: columns, rows: rows)
        guard let screen else { return grid.text(bold: bold) }
        return FittedTable(grid, screen).text(bold: bold)
    }
}

/// Cells that are laid out as they are.
struct TextGrid: Sendable {
    var columns: [TextTable.Column]
    var rows: [[String]]

    /// Room between two columns.
    var gap = 2
    /// The narrowest that sentences are made.
    private static let narrowest = 30

    private func natural(_ column: Int) -> Int {
        max(columns[column].heading.displayWidth, rows.map { $0[column].displayWidth }.max() ?? 0)
    }

    private var naturals: [Int] { columns.indices.map(natural) }

    private func total(_ widths: [Int]) -> Int {
        widths.reduce(0, +) + max(0, widths.count - 1) * gap
    }

    /// The width of each column in a line of so many characters; nil where that is not enough.
    func widths(in limit: Int) -> [Int]? {
        var widths = naturals
        for index in columns.indices where columns[index].kind == .prose {
            let excess = total(widths) - limit
            if excess > 0 { widths[index] = min(widths[index], max(TextGrid.narrowest, widths[index] - excess)) }
        }
        return total(widths) <= limit ? widths : nil
    }

    /// - Parameter widths: nil: as wide as each column needs to be.
    func text(bold: Bool, widths given: [Int]? = nil) -> String {
        let widths = given ?? naturals
        let head = line(columns.map { $0.heading.uppercased() }, widths)
        let body = rows.flatMap { lines($0, widths) }
        return ([bold ? "\u{1B}[1m\(head)\u{1B}[0m" : head] + body).joined(separator: "\n") + "\n"
    }

    /// A row; sentences may need several lines.
    private func lines(_ cells: [String], _ widths: [Int]) -> [String] {
        let parts = zip(cells, widths).map { $0.displayWidth > $1 ? $0.lines(ofWidth: $1) : [$0] }
        return (0..<max(1, parts.map(\.count).max() ?? 1)).map { number in
            line(parts.map { number < $0.count ? $0[number] : "" }, widths)
        }
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (index, (cell, width)) in zip(cells, widths).enumerated() {
            line += cell.padded(to: width, isRight: columns[index].kind == .number)
            line += String(repeating: " ", count: gap)
        }
        while line.hasSuffix(" ") { line.removeLast() }
        return line
    }
}
