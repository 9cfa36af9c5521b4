import Base
import Daemon
import Postgres
import Schemas

/// Whether each role reaches the database, which decides what else can be looked at.
struct DatabaseReach: Sendable {
    private(set) var findings: [Finding] = []
    private(set) var roles: Set<DatabaseRole> = []

    /// Roles that do not answer cost their time once.
    init(_ context: CheckContext) {
        for role in DatabaseRole.allCases {
            // Installations may do without the console; all else they need.
            guard role != .console || context.database.hasURL(of: role) else {
                findings.append(
                    .ok("\(role.rawValue) has no URL; \(role.configurationKey) is for `entitled console` alone"))
                continue
            }
            let isReached = Monitor(false)
            let check = Check("database.connection", within: .seconds(15)) { context in
                let version = try DatabaseReach.serverVersion(try context.connect(role))
                isReached.change { $0 = true }
                return [.ok("\(role.rawValue) reaches Postgres \(version)")]
            }
            findings += check.findings(context).map { DatabaseReach.explained($0, role) }
            if isReached.read({ $0 }) { roles.insert(role) }
        }
    }

    private static func serverVersion(_ connection: PostgresConnection) throws -> String {
        let number = connection.serverVersion
        return "\(number / 10_000).\(number % 10_000)"
    }

    private static func explained(_ finding: Finding, _ role: DatabaseRole) -> Finding {
        guard finding.status != .ok else { return finding }
        let prefix = "could not be checked: "
        let reason =
            finding.message.hasPrefix(prefix) ? String(finding.message.dropFirst(prefix.count)) : finding.message
        let action = "look at database.url and \(role.configurationKey), and whether Postgres runs and takes the login"
        return .error(
            "\(role.rawValue): \(reason)", reason.contains("`entitled migrate`") ? "entitled migrate" : action)
    }
}
