import Base
import Customers
import Database
import Postgres

/// Customers whom operators delete.
extension ChangeWork {
    /// As the command does. What is stored is redacted afterwards by the leader, this change and its entry in the audit with it: the
    /// outcome names no id.
    func deleteCustomer(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let policy = parameters["policy"]?.stringValue.flatMap(DeletionPolicy.init(rawValue:)) else {
            return .refused("The change does not say whether to erase or to pseudonymise.")
        }
        let deletion: CustomerActions.Deletion
        do {
            // Programs before this member asked without it.
            deletion = try actions(change).delete(
                change.target, policy: policy, holding: parameters[ChangeVersions.holdings]?.stringValue,
                on: connection)
        } catch is CustomerActions.OtherHoldings {
            return .refused(ChangeVersions.otherHoldings)
        }
        return .done(
            .object([
                "deletion": .int(deletion.id), "policy": .string(policy.rawValue),
                "id_count": .int(Int64(deletion.appUserIDs.count)),
                "purchase_count": .int(Int64(deletion.purchases.count)),
            ]))
    }
}
