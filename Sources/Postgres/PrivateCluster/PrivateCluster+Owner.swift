import Base
import Daemon

/// The role that logs in to a private cluster is no superuser: a process that is made to run foreign statements gets no further than
/// the database.
extension PrivateCluster {
    private static let state = """
        SELECT r.rolsuper, EXISTS (SELECT FROM pg_database WHERE datname = r.rolname) AS has_database
        FROM pg_roles r WHERE rolname = $1
        """

    /// Makes the owner and its database, or makes one of the superuser of a cluster that an earlier version made. A start that is
    /// cut short is done again by the next one.
    func makeOwner() throws(PrivateClusterError) {
        do {
            if try isOwnerMade(), isClosed { return }
            try demoteOwner()
            try asSuperuser(in: "postgres") { connection in
                if try connection.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [.text(PrivateCluster.owner)])
                    .isEmpty
                {
                    try connection.query("CREATE ROLE \(PrivateCluster.owner) LOGIN")
                }
                let known = "SELECT 1 FROM pg_database WHERE datname = $1"
                if try connection.query(known, [.text(PrivateCluster.owner)]).isEmpty {
                    try connection.query("CREATE DATABASE \(PrivateCluster.owner) OWNER \(PrivateCluster.owner)")
                }
            }
        } catch {
            throw PrivateClusterError("the private Postgres started, but: \(error)")
        }
    }

    private func isOwnerMade() throws -> Bool {
        guard let connection = try? PostgresConnection(PostgresTarget(url: url(database: "postgres"))),
            let row = try connection.query(PrivateCluster.state, [.text(PrivateCluster.owner)]).first
        else { return false }
        return try !row.bool("rolsuper") && row.bool("has_database")
    }

    /// The role of initdb cannot be taken its right, and what it owns cannot be given away at once: so it gets another name, and a
    /// new role its former one and all that was made in the database. One transaction.
    private func demoteOwner() throws {
        // Without the database in a cluster that was never made whole.
        let there = try? PostgresConnection(PostgresTarget(url: url()))
        guard let connection = there ?? (try? PostgresConnection(PostgresTarget(url: url(database: "postgres")))),
            try connection.query(PrivateCluster.state, [.text(PrivateCluster.owner)]).one().bool("rolsuper")
        else { return }
        try connection.execute(script: PrivateCluster.demotion)
        logger.notice("private database superuser demoted", ["role": .string(PrivateCluster.owner)])
    }

    /// No role can rename itself; what extensions made stays theirs. 16384 is the first number that initdb does not give.
    private static let demotion = """
        BEGIN;
        SET LOCAL lock_timeout = '10s';
        DO $$
        DECLARE
            made record;
        BEGIN
            CREATE ROLE entitled_renaming SUPERUSER;
            SET SESSION AUTHORIZATION entitled_renaming;
            ALTER ROLE \(owner) RENAME TO \(superuser);
            SET SESSION AUTHORIZATION \(superuser);
            DROP ROLE entitled_renaming;
            CREATE ROLE \(owner) LOGIN;
            FOR made IN
                WITH apart AS (SELECT objid, classid FROM pg_depend WHERE deptype = 'e')
                SELECT 'SCHEMA' AS kind, quote_ident(nspname) AS name FROM pg_namespace n
                WHERE n.oid >= 16384 AND nspowner = 10 AND nspname !~ '^pg_'
                    AND NOT EXISTS (SELECT FROM apart WHERE objid = n.oid AND classid = 'pg_namespace'::regclass)
                UNION ALL
                SELECT CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
                    WHEN 'f' THEN 'FOREIGN TABLE' WHEN 'c' THEN 'TYPE' ELSE 'TABLE' END, c.oid::regclass::text
                FROM pg_class c
                WHERE c.oid >= 16384 AND relowner = 10 AND relkind IN ('r', 'p', 'v', 'm', 'f', 'c', 'S')
                    AND relpersistence <> 't' AND relnamespace <> 'pg_toast'::regnamespace
                    AND NOT EXISTS (SELECT FROM apart WHERE objid = c.oid AND classid = 'pg_class'::regclass)
                    -- Sequences of columns follow their tables.
                    AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.classid = 'pg_class'::regclass
                        AND c.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0)
                UNION ALL
                SELECT CASE prokind WHEN 'a' THEN 'AGGREGATE' ELSE 'ROUTINE' END, p.oid::regprocedure::text FROM pg_proc p
                WHERE p.oid >= 16384 AND proowner = 10
                    AND NOT EXISTS (SELECT FROM apart WHERE objid = p.oid AND classid = 'pg_proc'::regclass)
                UNION ALL
                SELECT 'TYPE', t.oid::regtype::text FROM pg_type t
                WHERE t.oid >= 16384 AND typowner = 10 AND typtype IN ('d', 'e', 'r')
                    AND NOT EXISTS (SELECT FROM apart WHERE objid = t.oid AND classid = 'pg_type'::regclass)
            LOOP
                EXECUTE format('ALTER %s %s OWNER TO \(owner)', made.kind, made.name);
            END LOOP;
            IF current_database() = '\(owner)' THEN
                ALTER DATABASE \(owner) OWNER TO \(owner);
            END IF;
        END $$;
        COMMIT;
        """
}
