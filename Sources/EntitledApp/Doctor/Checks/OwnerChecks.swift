import Base
import Database
import Postgres
import Subscriptions

/// Whose purchases are.
enum OwnerChecks {
    static let all = [
        Check("owners.rules") { context, connection in try rules(context, connection) }
    ]

    private static let shown = 20

    private static let remaining = """
        SELECT EXISTS (SELECT 1 FROM entitled.purchase WHERE claims IS NULL AND app <> '$promotional')
        """

    /// Owners that an upgrade found and keeps, where the rules of today would give others.
    private static func rules(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        var findings: [Finding] = []
        if try connection.query(remaining).one().bool("exists") {
            findings.append(.ok("workers are still comparing the owners that an upgrade found with the rules"))
        }
        let accounts = try AccountTable.differing(atMost: shown + 1, on: connection)
        guard !accounts.isEmpty else {
            return findings + [.ok("no purchase has an owner from before an upgrade whom the rules would not give")]
        }
        let settlement = OwnerSettlement(salt: OwnerSalt(), foldSettings: context.configuration.foldSettings)
        let differing = try settlement.differing(of: Set(accounts.prefix(shown)), on: connection)
        let lines = differing.sorted { $0.key.originalTransactionID < $1.key.originalTransactionID }.map { key, ids in
            "\(key.originalTransactionID) (\(key.app), \(key.environment.rawValue)) is of \(ids.found), by the rules of \(ids.ruled)"
        }
        let more = accounts.count > shown ? "; there are more accounts of this kind" : ""
        return findings + [
            .warning(
                "the upgrade kept owners that the rules would not choose: \(lines.joined(separator: "; "))\(more)",
                "nothing is required: access stays as it was. To follow the rules, move a purchase to its customer with"
                    + " `entitled purchases claim` or `entitled customers transfer`")
        ]
    }
}
