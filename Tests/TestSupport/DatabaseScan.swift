import Base
import Database
import Postgres

/// Looks for texts in everything that is stored: every column of every table, and whatever is compressed or encoded in it.
package struct DatabaseScan {
    private let database: TestDatabase

    package init(_ database: TestDatabase) {
        self.database = database
    }

    private static let tables = """
        SELECT c.relname::text FROM pg_class c
        WHERE c.relnamespace = 'entitled'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1
        """

    package func tables() throws -> [String] { try database.texts(DatabaseScan.tables) }

    /// Tables with any of these in them, whatever the case, each with the row that has it.
    package func places(of needles: [String]) throws -> [String: String] {
        // UUIDs may be stored as their bytes, which are read as hex digits.
        let uuids = needles.compactMap { UUIDText.bytes($0).map(Hex.encode) }
        let needles = needles.map { $0.lowercased() } + uuids
        var found: [String: String] = [:]
        for table in try tables() {
            for text in try texts(of: table) {
                let whole = text.lowercased()
                if needles.contains(where: whole.contains) { found[table] = text }
            }
        }
        return found
    }

    /// Rows as text: `bytea` in every reading that there is of it.
    private func texts(of table: String) throws -> [String] {
        let connection = try database.connect()
        var texts = try connection.query("SELECT t::text FROM entitled.\(table) t").map { try $0.text(0) }
        let columns = try connection.query(
            """
            SELECT attname::text FROM pg_attribute
            WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped AND atttypid = 'bytea'::regtype
            """, [.text("entitled.\(table)")]
        ).map { try $0.text(0) }
        for column in columns {
            for row in try connection.query("SELECT \(column) FROM entitled.\(table) WHERE \(column) IS NOT NULL") {
                texts += DatabaseScan.readings(of: try row.bytes(0))
            }
        }
        if table == "notification" { texts += try notifications(connection) }
        return texts
    }

    private func notifications(_ connection: PostgresConnection) throws -> [String] {
        let dictionaries = HeaderDictionaries()
        return try connection.query(
            """
            SELECT n.header, n.payload, n.signature, h.header FROM entitled.notification n
            JOIN entitled.jws_header h ON h.id = n.header
            """
        ).flatMap { row in
            let stored = StoredJWS(headerID: try row.uuid(0), payload: try row.bytes(1), signature: try row.bytes(2))
            return DatabaseScan.readings(of: try dictionaries.restore(stored, header: try row.bytes(3)))
        }
    }

    private static func readings(of bytes: [UInt8]) -> [String] {
        let plain = [
            bytes, (try? EventBodyCodec.restore(bytes)) ?? [], (try? FactCodec.restore(bytes)) ?? [],
        ].filter { !$0.isEmpty }
        return plain.flatMap { plain in
            let text = String(decoding: plain, as: UTF8.self)
            // Parts of a JWS, wherever they are.
            let parts = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_")) }
            return [text, Hex.encode(plain)]
                + parts.filter { $0.hasPrefix("eyJ") }.compactMap { part in
                    Base64.decodeURL(Array(part.utf8)).map { String(decoding: $0, as: UTF8.self) }
                }
        }
    }
}
