import Base
import CLI
import Schemas

/// Looks at everything, one check after the other, whatever comes of those before.
struct Doctor {
    let context: CheckContext
    /// Whether Apple is left alone.
    let isOffline: Bool

    /// All findings, in the order of the report.
    func examine() -> [NamedFinding] {
        var found = findings(FileChecks.all)
        let reach = DatabaseReach(context)
        found += reach.findings.map { NamedFinding(name: "database.connection", finding: $0) }
        let checks =
            DatabaseChecks.all + PrivilegeChecks.all + RoleChecks.all + ClusterChecks.all + TrustChecks.all
            + ClockChecks.all + WorkChecks.all + AppChecks.all + MoneyChecks.all + OwnerChecks.all + EndpointChecks.all
            + (isOffline ? [] : AppleChecks.all(context.configuration))
        let possible = checks.filter { $0.role.map(reach.roles.contains) ?? true }
        var left: [String] = []
        for check in checks where check.role.map({ !reach.roles.contains($0) }) ?? false {
            if !left.contains(check.name) { left.append(check.name) }
        }
        if !left.isEmpty {
            let warning = Finding.warning("not checked without the database: \(left.joined(separator: ", "))", nil)
            found.append(NamedFinding(name: "database.connection", finding: warning))
        }
        return found + findings(possible)
    }

    private func findings(_ checks: [Check]) -> [NamedFinding] {
        checks.enumerated().flatMap { index, check in
            context.progress(Double(index) / Double(checks.count), check.name)
            return check.findings(context).map { NamedFinding(name: check.name, finding: $0) }
        }
    }
}
