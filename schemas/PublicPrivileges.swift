import Base
import Postgres

/// Privileges that Postgres gives to every role and no process needs: large objects, temporary tables, advisory locks.
package enum PublicPrivileges {
    /// A kind of these privileges.
    package enum Kind: String, Sendable, CaseIterable {
        case temporaryTables = "temporary tables"
        case largeObjects = "large objects"
        case advisoryLocks = "advisory locks"
    }

    /// Withdraws them as far as the user who runs it may; may be run again.
    package static let script = EmbeddedFile.text("public_privileges.sql")

    package static func withdraw(on connection: PostgresConnection) throws {
        try connection.execute(script: script)
    }

    /// A few functions stand for the others of their kind that the script names.
    private static let select = """
        SELECT bool_or(has_database_privilege(role, current_database(), 'TEMPORARY')) AS "temporary tables",
            bool_or(has_function_privilege(role, 'pg_catalog.lo_create(oid)', 'EXECUTE')
                OR has_function_privilege(role, 'pg_catalog.lo_creat(int)', 'EXECUTE')
                OR has_function_privilege(role, 'pg_catalog.lo_from_bytea(oid, bytea)', 'EXECUTE')) AS "large objects",
            bool_or(has_function_privilege(role, 'pg_catalog.pg_advisory_lock(bigint)', 'EXECUTE')
                OR has_function_privilege(role, 'pg_catalog.pg_try_advisory_lock(bigint)', 'EXECUTE')) AS "advisory locks"
        FROM unnest($1::text[]) AS role
        """

    /// Returns the kinds that the role of some process still has in this database; any user may call it.
    package static func left(on connection: PostgresConnection) throws -> [Kind] {
        let row = try connection.query(select, [.texts(DatabaseRole.allCases.map(\.rawValue))]).one()
        return try Kind.allCases.filter { try row.bool(ColumnName($0.rawValue)) }
    }
}
