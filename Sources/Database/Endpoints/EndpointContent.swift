import Postgres

/// What an endpoint gets with events, and which it does not get: columns that schemas before 27 lack.
enum EndpointContent {
    /// The schema has no place for it.
    struct MissingColumns: Error, CustomStringConvertible {
        var description: String {
            "the schema of the database is too old for --except, --include and --format firebase: run `entitled migrate`"
        }
    }

    private static let update = """
        UPDATE entitled.endpoint SET excepted_events = $2, includes_subscriber = $3, extension_version = $4 WHERE id = $1
        """

    /// - Throws: `MissingColumns`.
    static func write(
        _ exceptedEvents: [String], includesSubscriber: Bool, extensionVersion: String?, of id: String,
        on connection: PostgresConnection
    ) throws {
        do {
            _ = try connection.query(
                update, [.text(id), .texts(exceptedEvents), .bool(includesSubscriber), .text(extensionVersion)])
        } catch let error where error.isUndefined {
            throw MissingColumns()
        }
    }
}
