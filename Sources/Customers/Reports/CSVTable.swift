/// Rows for spreadsheets (RFC 4180). What comes from outside is no formula there: a cell that would be read as one gets an
/// apostrophe before it (OWASP: CSV Injection).
package struct CSVTable: Sendable {
    private var lines: [String]

    package init(_ headings: [String]) {
        lines = [headings.map(CSVTable.quoted).joined(separator: ",")]
    }

    /// - Parameters:
    ///   - cells: texts.
    ///   - number: the last cell, as it is.
    package mutating func add(_ cells: [String], number: String) {
        lines.append((cells.map { CSVTable.quoted(CSVTable.harmless($0)) } + [number]).joined(separator: ","))
    }

    /// A row of its own, with its line end.
    ///
    /// - Parameters:
    ///   - isRaw: whether it is for programs that read what stands there, and no spreadsheet.
    ///   - delimiter: a comma, a semicolon or a tabulator.
    package static func line(_ cells: [String], isRaw: Bool = false, delimiter: String = ",") -> String {
        cells.map { quoted(isRaw ? $0 : harmless($0)) }.joined(separator: delimiter) + "\r\n"
    }

    /// A row of its own, with its line end.
    ///
    /// - Parameters:
    ///   - cells: texts.
    ///   - numbers: of the program's own, as they are; a negative one is no formula.
    package static func line(_ cells: [String], numbers: [String]) -> String {
        (cells.map { quoted(harmless($0)) } + numbers).joined(separator: ",") + "\r\n"
    }

    package var text: String { lines.map { $0 + "\r\n" }.joined() }

    private static func harmless(_ cell: String) -> String {
        // By scalars: with a carriage return a line feed is one character.
        guard let first = cell.unicodeScalars.first, "=+-@\t\r\n".unicodeScalars.contains(first) else { return cell }
        return "'" + cell
    }

    private static func quoted(_ cell: String) -> String {
        // Where the comma is the decimal sign, spreadsheets split cells at a semicolon, unless they are quoted.
        guard cell.unicodeScalars.contains(where: { "\",;\t\r\n".unicodeScalars.contains($0) }) else { return cell }
        return "\"" + cell.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }
}
