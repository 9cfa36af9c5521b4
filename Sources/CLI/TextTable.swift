/// Rows under headings, in columns as wide as they need to be.
package struct TextTable: Sendable {
    private let headings: [String]
    private var rows: [[String]] = []

    package init(_ headings: [String]) {
        self.headings = headings
    }

    /// Cells are shown on one line; those that are missing are empty, those too many left out.
    package mutating func add(_ cells: [String]) {
        rows.append(headings.indices.map { $0 < cells.count ? Terminal.harmless(cells[$0]) : "" })
    }

    package var isEmpty: Bool { rows.isEmpty }

    /// Lines without white space at their ends; headings in capitals.
    package func text(bold: Bool = false) -> String {
        let widths = headings.indices.map { column in
            ([headings] + rows).map { $0[column].count }.max() ?? 0
        }
        let head = line(headings.map { $0.uppercased() }, widths)
        let body = rows.map { line($0, widths) }
        return ([bold ? "\u{1B}[1m\(head)\u{1B}[0m" : head] + body).joined(separator: "\n") + "\n"
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (cell, width) in zip(cells, widths) {
            line += cell + String(repeating: " ", count: max(0, width - cell.count) + 2)
        }
        while line.hasSuffix(" ") {
            line.removeLast()
        }
        return line
    }
}
