import Base
import Postgres

/// What the servers of a cluster need before tables are distributed over them.
enum ClusterServers {
    private static let hasCoordinator = """
        SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_node WHERE groupid = 0) AS has_coordinator
        """

    /// Of a command that every server runs, with what it answers or why it cannot.
    private static func asked(_ call: String) -> String {
        """
        SELECT n.nodename || ':' || n.nodeport AS server, n.shouldhaveshards AS has_shards, r.success AS is_done,
            coalesce(r.result, '') AS answer
        FROM \(call) AS r JOIN pg_catalog.pg_dist_node n USING (nodeid) ORDER BY 1
        """
    }

    private static let settings = asked(
        """
        run_command_on_all_nodes($$SELECT current_setting('max_prepared_transactions') || ' ' || available_disk_size
            FROM citus_local_disk_space_stats()$$)
        """)

    /// The coordinator logs in to the servers as the role that asks. Each server does it for itself, at once with the others.
    private static let makeRoles = asked(
        """
        run_command_on_all_nodes($command$DO $body$ DECLARE name text; BEGIN
            PERFORM set_config('citus.enable_ddl_propagation', 'off', true);
            FOREACH name IN ARRAY '{\(roles.joined(separator: ","))}'::text[] LOOP
                IF to_regrole(name) IS NULL THEN EXECUTE format('CREATE ROLE %I LOGIN', name);
                ELSIF NOT rolcanlogin FROM pg_roles WHERE rolname = name THEN EXECUTE format('ALTER ROLE %I LOGIN', name);
                END IF;
            END LOOP; END $body$$command$)
        """)

    private static let logIn = asked("run_command_on_all_nodes('SELECT 1')")

    private static let roles = DatabaseRole.allCases.map(\.rawValue)

    /// - Parameter bytes: of the tables that are to be distributed, indexes included.
    /// - Throws: `Distribution.Refusal` where a server lacks something.
    static func check(for bytes: Int64, on connection: PostgresConnection) throws {
        guard try connection.query(hasCoordinator).one().bool("has_coordinator") else {
            throw Distribution.Refusal(
                description: "the coordinator is not among the servers of the cluster: name it by "
                    + "citus_set_coordinator_host, then try again")
        }
        let rows = try answers(settings, on: connection)
        let share = bytes / Int64(max(1, rows.filter(\.hasShards).count))
        for row in rows {
            let numbers = row.answer.split(separator: " ").compactMap { Int64($0) }
            guard numbers.count == 2 else { throw refusal(row.server, "answers \(row.answer)") }
            guard numbers[0] > 0 else {
                throw refusal(
                    row.server, "has max_prepared_transactions = 0: set it to max_connections at least, and restart it")
            }
            guard !row.hasShards || numbers[1] > share else {
                throw refusal(
                    row.server,
                    "has \(numbers[1] >> 20) MB of free disk, and its part of the tables is about \(share >> 20) MB")
            }
        }
        try checkRoles(on: connection)
    }

    private static func checkRoles(on connection: PostgresConnection) throws {
        _ = try answers(makeRoles, on: connection)
        for role in roles {
            _ = try connection.query("SET ROLE \(PostgresIdentifier.quoted(role))")
            defer { _ = try? connection.query("RESET ROLE") }
            _ = try answers(logIn, on: connection, as: role)
        }
    }

    private struct Answer {
        let server: String
        let hasShards: Bool
        let answer: String
    }

    private static func answers(
        _ sql: String, on connection: PostgresConnection, as role: String? = nil
    ) throws -> [Answer] {
        try connection.query(sql).map { row in
            let (server, answer) = (try row.text("server"), try row.text("answer"))
            guard try row.bool("is_done") else {
                throw refusal(server, "does not do what \(role ?? "the owner") asks through the coordinator: \(answer)")
            }
            return Answer(server: server, hasShards: try row.bool("has_shards"), answer: answer)
        }
    }

    private static func refusal(_ server: String, _ fault: String) -> Distribution.Refusal {
        Distribution.Refusal(description: "the server \(server) \(fault)")
    }
}
