import CLibpq
import Glibc

/// The rows of one answer, kept in libpq's memory; nothing is copied until it is read.
///
/// `@unchecked Sendable`: libpq never changes a PGresult after it is made (manual, 34.20), and neither do we.
package final class PostgresRows: @unchecked Sendable, RandomAccessCollection {
    let result: OpaquePointer
    package let count: Int
    package let columns: Int
    /// The statement that was answered, to name it in an error.
    private let statement: String
    private let places: ColumnPlaces

    /// Takes ownership.
    init(_ result: OpaquePointer, of statement: String) {
        self.result = result
        self.statement = statement
        count = Int(PQntuples(result))
        columns = Int(PQnfields(result))
        places = ColumnPlaces(columns: columns)
    }

    deinit {
        PQclear(result)
    }

    package var startIndex: Int { 0 }
    package var endIndex: Int { count }

    package subscript(position: Int) -> PostgresRow {
        precondition(position >= 0 && position < count, "no such row")
        return PostgresRow(rows: self, index: Int32(position))
    }

    /// The statement's tag, such as `COMMIT`.
    var tag: String {
        PQcmdStatus(result).map { String(cString: $0) } ?? ""
    }

    /// The only row; fails with kind `decoding` if there is none or more than one.
    package func one() throws(PostgresError) -> PostgresRow {
        guard count == 1 else { throw fault("expected one row, not \(count)") }
        return self[0]
    }

    // MARK: - Columns

    @inline(__always)
    func place(of column: ColumnName) throws(PostgresError) -> Int32 {
        switch column.form {
        case .literal(let name):
            if let place = places[name] { return place }
            let start = UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
            let place = try find(column) { strcmp($0, start) == 0 }
            places[name] = place
            return place
        case .text(let name):
            return try find(column) { String(cString: $0) == name }
        case .place(let place):
            guard place >= 0, place < columns else { throw missing(column) }
            return Int32(place)
        }
    }

    private func find(
        _ column: ColumnName, _ isName: (UnsafePointer<CChar>) -> Bool
    ) throws(PostgresError) -> Int32 {
        var found: Int32?
        for place in 0..<Int32(columns) where PQfname(result, place).map({ isName($0) }) ?? false {
            guard found == nil else { throw fault("the answer has two columns \(column)") }
            found = place
        }
        guard let found else { throw missing(column) }
        return found
    }

    private func missing(_ column: ColumnName) -> PostgresError {
        let names = (0..<Int32(columns)).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
        return fault("the answer has no column \(column), only \(names.joined(separator: ", "))")
    }

    /// An error of kind `decoding` that names the statement.
    func fault(_ message: String) -> PostgresError {
        let words = statement.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        return PostgresError(
            .decoding, "\(message); the statement is \(words.prefix(300))\(words.count > 300 ? "…" : "")")
    }
}
