import Postgres

/// What operators did, and what was refused to them. `ChangeTable` notes what became of changes.
package enum AuditTable {
    private static let insert = """
        INSERT INTO entitled.audit (at_ms, actor, credential, address, user_agent, kind, target, reason, outcome, message)
        VALUES ((extract(epoch FROM clock_timestamp()) * 1000)::int8, $1, $2, $3, $4, $5, $6, $7, 'refused', $8)
        """

    /// Notes a change that did not become one.
    ///
    /// - Parameters:
    ///   - reason: as the operator gave it; nil: none was read.
    ///   - message: why it was refused, as a sentence.
    package static func refused(
        _ kind: ChangeKind, _ target: String, reason: String?, by origin: ChangeOrigin, message: String,
        on connection: PostgresConnection
    ) throws {
        _ = try connection.query(
            insert,
            [
                .text(origin.user), .text(origin.credential.text), .text(origin.address), .text(origin.userAgent),
                .text(kind.rawValue), .text(target), .text(reason), .text(message),
            ])
    }
}
