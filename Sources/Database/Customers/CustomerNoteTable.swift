import Base
import Postgres

/// What operators noted on a customer.
package struct CustomerNote: Sendable, Equatable {
    package let id: Int64
    /// The id of the customer under which it was noted.
    package let appUserID: String
    /// The name of the operator, or of the user of the host.
    package let author: String
    /// ms since 1970.
    package let made: Int64
    package let text: String
}

package enum CustomerNoteTable {
    /// Unicode scalars of a note.
    package static let longest = 4000

    private static let columns = "id, app_user_id, author, made_ms, text"

    private static let select = """
        SELECT \(columns) FROM entitled.customer_note WHERE app_user_id = ANY($1::text[]) AND id < $2
        ORDER BY id DESC LIMIT $3
        """

    /// A page, the newest first.
    ///
    /// - Parameter ids: all ids of one customer.
    package static func list(
        of ids: [String], _ range: ListRange, on connection: PostgresConnection
    ) throws -> ListPage<CustomerNote> {
        let found = try connection.query(
            select, [.texts(ids), .int8(range.after?.order ?? .max), .int8(Int64(range.limit + 1))]
        ).map(note)
        return ListPage(found, limit: range.limit) { ListCursor(order: $0.id, lane: 0) }
    }

    /// One note of a customer; nil where there is none with the number.
    ///
    /// - Parameter ids: all ids of the customer.
    package static func find(
        _ id: Int64, of ids: [String], on connection: PostgresConnection
    ) throws -> CustomerNote? {
        try connection.query(
            "SELECT \(columns) FROM entitled.customer_note WHERE id = $1 AND app_user_id = ANY($2::text[])",
            [.int8(id), .texts(ids)]
        ).first.map(note)
    }

    /// - Parameter id: of the customer, who is locked.
    package static func add(
        _ text: String, to id: String, by author: String, now: Int64, on connection: PostgresConnection
    ) throws -> CustomerNote {
        try note(
            try connection.query(
                """
                INSERT INTO entitled.customer_note (app_user_id, author, made_ms, text) VALUES ($1, $2, $3, $4)
                RETURNING \(columns)
                """, [.text(id), .text(author), .int8(now), .text(text)]
            ).one())
    }

    package enum Removal: Sendable {
        case done, notFound
        case othersNote(String)
    }

    /// Removes a note that its author takes back.
    ///
    /// - Parameters:
    ///   - ids: all ids of the customer.
    ///   - author: the only one whose note it may be; nil: any.
    package static func remove(
        _ id: Int64, of ids: [String], by author: String?, on connection: PostgresConnection
    ) throws -> Removal {
        guard
            let found = try connection.query(
                """
                SELECT author, EXISTS (
                    SELECT FROM entitled.console_user u WHERE u.name = n.author AND u.created_ms > n.made_ms
                ) AS is_former
                FROM entitled.customer_note n WHERE id = $1 AND app_user_id = ANY($2::text[]) FOR UPDATE
                """, [.int8(id), .texts(ids)]
            ).first.map({ (author: try $0.text("author"), isFormer: try $0.bool("is_former")) })
        else { return .notFound }
        // Another operator may have had the name before.
        if let author, author != found.author || found.isFormer { return .othersNote(found.author) }
        _ = try connection.query("DELETE FROM entitled.customer_note WHERE id = $1", [.int8(id)])
        return .done
    }

    private static func note(_ row: PostgresRow) throws -> CustomerNote {
        CustomerNote(
            id: try row.int("id"), appUserID: try row.text("app_user_id"), author: try row.text("author"),
            made: try row.int("made_ms"), text: try row.text("text"))
    }
}
