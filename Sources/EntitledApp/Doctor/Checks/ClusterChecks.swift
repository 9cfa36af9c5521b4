import Base
import CLI
import Database
import Postgres
import Schemas

/// The servers over which the tables are distributed. Where they all lie on one Postgres there is nothing to say.
enum ClusterChecks {
    static let all = [
        Check("cluster.servers") { _, connection in try servers(connection) },
        Check("cluster.tables") { _, connection in try tables(connection) },
        Check("cluster.shards") { _, connection in try shards(connection) },
        Check("cluster.commits", as: .api) { context in try commits(context) },
        Check("cluster.prepared") { context, connection in try prepared(context, connection) },
    ]

    // MARK: - Servers

    private static let longestConnecting = Duration.seconds(5)

    private static func servers(_ connection: PostgresConnection) throws -> [Finding] {
        let members = try ClusterMember.list(on: connection)
        guard !members.isEmpty else { return [] }
        var findings: [Finding] = []
        var coordinator: ClusterMember.Answer?
        for member in members {
            guard member.isActive else {
                findings.append(
                    .error(
                        "the server \(member.name) is disabled\(waiting(member))",
                        "SELECT citus_activate_node('\(member.host)', \(member.port)) on the coordinator"))
                continue
            }
            guard let answer = try member.ask(on: connection) else {
                findings.append(
                    .error(
                        "the server \(member.name) does not answer the coordinator\(waiting(member))",
                        "start Postgres there; if it runs, look whether the coordinator reaches it, and whether its pg_hba.conf "
                            + "lets the coordinator in as \(try connection.currentUser())"))
                continue
            }
            if member.isCoordinator { coordinator = answer }
            findings += faults(of: member, answer, beside: coordinator)
        }
        if let timeout = try ClusterMember.connectionTimeout(on: connection), timeout > longestConnecting {
            findings.append(
                .warning(
                    "citus.node_connection_timeout is \(timeout.text): a process waits that long for each server whose host is off",
                    "set it to \(longestConnecting.text) at most on the coordinator, and reload Postgres"))
        }
        guard findings.isEmpty else { return findings }
        return [
            .ok("the coordinator and \((members.count - 1).counted("server")) answer, and their clocks agree")
        ]
    }

    private static func waiting(_ member: ClusterMember) -> String {
        switch member.shards {
        case 0: ""
        case 1: ": the lanes of its shard wait"
        case let count: ": the lanes of its \(count) shards wait"
        }
    }

    private static func faults(
        of member: ClusterMember, _ answer: ClusterMember.Answer, beside coordinator: ClusterMember.Answer?
    ) -> [Finding] {
        var findings: [Finding] = []
        for name in ["fsync", "full_page_writes"] where answer.settings[name] == "off" {
            findings.append(
                .error(
                    "\(name) is off on \(member.name): a crash of that host can lose what was acknowledged",
                    "set \(name) = on there and reload Postgres"))
        }
        if answer.settings["max_prepared_transactions"] == "0" {
            findings.append(
                .error(
                    "max_prepared_transactions is 0 on \(member.name): no commit over several servers can succeed",
                    "set max_prepared_transactions there to max_connections at least, and restart Postgres"))
        }
        if abs(answer.clockLead) > ClockChecks.tolerance {
            let side = answer.clockLead > 0 ? "ahead of" : "behind"
            findings.append(
                .warning(
                    "the clock of \(member.name) is \(RelativeTime.text(abs(answer.clockLead))) \(side) the coordinator's: "
                        + "leases of lanes are judged by the clock of their server",
                    "let all servers set their clocks by NTP"))
        }
        if let coordinator, answer.citus != coordinator.citus {
            findings.append(
                .warning(
                    "the extension citus is \(answer.citus) on \(member.name) and \(coordinator.citus) on the coordinator",
                    "ALTER EXTENSION citus UPDATE in the database of each server, with the same package installed"))
        }
        return findings
    }

    // MARK: - Where things lie

    private static func tables(_ connection: PostgresConnection) throws -> [Finding] {
        guard let state = try ClusterState.read(on: connection) else { return [] }
        if let unfinished = state.unfinished { return [.warning(unfinished, nil)] }
        return [.ok("all tables are where they belong, distributed over \(state.shards ?? 0) shards")]
    }

    /// More on one server than on another by this factor, and by so many bytes, is worth a move.
    private static let (unevenness, leastBytes) = (Int64(2), Int64(10) << 30)

    private static func shards(_ connection: PostgresConnection) throws -> [Finding] {
        let members = try ClusterMember.list(on: connection).filter { $0.takesShards || $0.shards > 0 }
        guard !members.isEmpty else { return [] }
        let held = try members.map { member in
            (member: member, bytes: member.isActive ? try member.ask(on: connection)?.bytes : nil)
        }
        let list = held.map { held in
            "\(held.member.shards) on \(held.member.name)" + (held.bytes.map { " (\(DatabaseChecks.size($0)))" } ?? "")
        }.joined(separator: ", ")
        var findings = members.filter { !$0.takesShards }.map { member in
            Finding.warning(
                "\(member.name) is to take no shards, and has \(member.shards)",
                "SELECT citus_drain_node('\(member.host)', \(member.port)) on the coordinator moves them away")
        }
        let counts = members.filter(\.takesShards).map(\.shards)
        let bytes = held.filter(\.member.takesShards).compactMap(\.bytes)
        if let most = counts.max(), let least = counts.min(), most - least > 1 {
            findings.append(
                .warning(
                    "shards lie unevenly on the servers: \(list)",
                    "SELECT citus_rebalance_start() on the coordinator moves some while processes work; "
                        + "citus_rebalance_status() shows how far it is"))
        } else if let most = bytes.max(), let least = bytes.min(), most > least * unevenness, most - least > leastBytes
        {
            findings.append(
                .warning(
                    "the servers have as many shards, and not as much in them: \(list)",
                    "SELECT citus_rebalance_start(rebalance_strategy => 'by_disk_size') on the coordinator"))
        }
        return findings.isEmpty ? [.ok("shards by server: \(list)")] : findings
    }

    // MARK: - Commits

    /// The coordinator logs in to the servers as the roles of the processes, and has the settings that these have there.
    private static func commits(_ context: CheckContext) throws -> [Finding] {
        let members = try ClusterMember.list(on: try context.connect(.api)).filter(\.isActive)
        guard !members.isEmpty else { return [] }
        var answers: [(role: DatabaseRole, member: String, answer: ClusterMember.Answer?)] = []
        for role in DatabaseRole.allCases where context.database.hasURL(of: role) {
            // What keeps the role from the coordinator has a line of its own.
            guard let connection = try? context.connect(role) else { continue }
            for member in members {
                let former = answers.filter { $0.member == member.name }
                // One that lets two roles wait in vain is away.
                if former.count > 1, former.allSatisfy({ $0.answer == nil }) { continue }
                answers.append((role, member.name, try member.ask(on: connection)))
            }
        }
        // A server that answers no role has a line of its own, too.
        let reached = Set(answers.filter { $0.answer != nil }.map(\.member))
        let refused = answers.filter { $0.answer == nil && reached.contains($0.member) }.map { refused in
            Finding.error(
                "the server \(refused.member) does not let \(refused.role.rawValue) in, as which the coordinator logs in to it",
                "ALTER ROLE \(refused.role.rawValue) LOGIN on the coordinator; then look at pg_hba.conf there")
        }
        let findings =
            refused
            + volatile(
                answers.compactMap { role, member, answer in
                    answer.map { (role, member, $0.settings["synchronous_commit"] ?? "") }
                })
        guard findings.isEmpty, !reached.isEmpty else { return findings }
        return [.ok("every role reaches the servers that answer, and commits are durable there")]
    }

    private static func volatile(_ found: [(role: DatabaseRole, member: String, setting: String)]) -> [Finding] {
        var findings: [Finding] = []
        for (setting, meaning) in [
            ("off", "a crash of that host can lose what was acknowledged"),
            ("local", "commits wait for none of its standbys, so that a failover can lose what was acknowledged"),
        ] {
            let members = Dictionary(grouping: found.filter { $0.setting == setting }, by: \.member)
            for (member, faults) in members.sorted(by: { $0.key < $1.key }) {
                let whole = found.count { $0.member == member } == faults.count
                let roles = whole ? "" : " for \(faults.map(\.role.rawValue).joined(separator: ", "))"
                let message = "synchronous_commit is \(setting) on \(member)\(roles): \(meaning)"
                let action = "set synchronous_commit = on there and reload Postgres"
                findings.append(setting == "off" ? .error(message, action) : .warning(message, action))
            }
        }
        return findings
    }

    private static func prepared(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let members = try ClusterMember.list(on: connection).filter(\.isActive)
        guard !members.isEmpty else { return [] }
        let findings = try members.compactMap { member -> Finding? in
            guard
                let prepared = try member.ask(longestCommit: context.longestCommit, on: connection)?.prepared,
                prepared.leftOver > 0
            else { return nil }
            let message =
                "\(Int(prepared.leftOver).counted("prepared transaction")) left over on \(member.name), the oldest from "
                + "\(RelativeTime.text(prepared.age)) ago: the rows that were changed stay locked, and their lanes wait"
            return .error(
                message,
                prepared.isOfCluster
                    ? "SELECT recover_prepared_transactions() on the coordinator, as its owner; it does that by itself every "
                        + "citus.recover_2pc_interval"
                    : "another program prepared \(prepared.id): COMMIT PREPARED or ROLLBACK PREPARED there, as that program says"
            )
        }
        return findings.isEmpty ? [.ok("no prepared transaction is left over on the servers that answer")] : findings
    }
}
