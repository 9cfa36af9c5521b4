import Base
import CLI
import Database
import Postgres

/// Whether all hosts work by the same configuration.
enum ProcessChecks {
    static func configurations(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        guard try ProcessTable.isThere(on: connection) else { return [] }
        let lease = context.configuration.worker.lease
        let comparison = ConfigurationComparison(
            try ProcessTable.living(workersSeenWithin: 2 * lease.milliseconds, on: connection))
        let own = ConfigurationKeys.digest(of: context.configuration)
        let differing = comparison.differing
        guard differing.isEmpty else {
            let groups = differing.map { describe($0, own: own) }.joined(separator: "; ")
            return [
                .warning(
                    "processes use different configurations: \(groups)" + unknown(comparison),
                    "compare `entitled check-config --set` on these hosts, install the same file on all of them, and run "
                        + "`systemctl reload 'entitled-*'`; restart where the log says `configuration needs restart`")
            ]
        }
        // A program of another version may hash the same file differently.
        let stale = comparison.groups.filter { $0.version == Version.current && $0.configuration != own }
        guard stale.isEmpty else {
            let groups = stale.map { describe($0, own: own) }.joined(separator: "; ")
            return [
                .warning(
                    "no process uses the configuration of this host, \(own.text): \(groups)" + unknown(comparison),
                    "run `systemctl reload 'entitled-*'` if the file was changed, or name the file that the processes read "
                        + "with --config")
            ]
        }
        let known = comparison.groups.reduce(0) { $0 + $1.processes.count }
        guard known > 0 else { return [.ok("no process has said by which configuration it works")] }
        let versions = Set(comparison.groups.map(\.version)).count
        let compared = versions > 1 ? "; \(versions) versions, each compared by itself" : ""
        let count = known == 1 ? "1 role of a process works" : "\(known) roles of processes work"
        return [.ok("\(count) by the same configuration\(compared)" + unknown(comparison))]
    }

    private static func describe(_ group: ConfigurationComparison.Group, own: ConfigurationDigest) -> String {
        let shown = group.processes.prefix(8).map { process in
            "\(process.role) on \(process.host)" + (process.started.map { " since \(Timestamp.text($0))" } ?? "")
        }
        let more = group.processes.count - shown.count
        let list = shown.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
        return "\(group.configuration.text)\(group.configuration == own ? " (as on this host)" : ""): \(list)"
    }

    private static func unknown(_ comparison: ConfigurationComparison) -> String {
        switch comparison.unknown.count {
        case 0: ""
        case 1: "; 1 worker of an earlier version does not say"
        case let count: "; \(count) workers of earlier versions do not say"
        }
    }
}
