import CLibpq

/// The rows of one answer, kept in libpq's memory; nothing is copied until it is read.
///
/// `@unchecked Sendable`: libpq never changes a PGresult after it is made (manual, 34.20), and neither do we.
package final class PostgresRows: @unchecked Sendable, RandomAccessCollection {
    let result: OpaquePointer
    package let count: Int
    package let columns: Int

    /// Takes ownership.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
        columns = Int(PQnfields(result))
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
        guard count == 1 else { throw PostgresError(.decoding, "expected one row, not \(count)") }
        return self[0]
    }
}

/// How a column is named: by index, which is cheap, or by name, which searches.
package protocol PostgresColumn {
    func index(in rows: PostgresRows) -> Int32?
}

extension Int: PostgresColumn {
    package func index(in rows: PostgresRows) -> Int32? {
        self >= 0 && self < rows.columns ? Int32(self) : nil
    }
}

extension String: PostgresColumn {
    package func index(in rows: PostgresRows) -> Int32? {
        // Quoted: PQfnumber folds the case of what is not.
        let index = PQfnumber(rows.result, "\"\(self)\"")
        return index >= 0 ? index : nil
    }
}
