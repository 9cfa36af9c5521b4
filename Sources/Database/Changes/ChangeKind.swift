import Postgres

/// What an operator can ask for from the console and the operator API.
package enum ChangeKind: String, Sendable, CaseIterable, ColumnDecodable {
    /// Gives a customer an entitlement: `{"entitlement", "until" in ms | "duration"}`.
    case grant
    /// Takes back what a customer was granted: `{"entitlement"}`.
    case revoke
    /// Sends a delivery again.
    case resend
    /// Applies a notification again, or releases a held one: `{"app", "environment"}`.
    case reprocess
    case endpointEnable = "endpoint_enable"
    case endpointDisable = "endpoint_disable"
    /// Sends nothing to an endpoint before an instant: `{"until"}`, in ms.
    case endpointPause = "endpoint_pause"

    /// Who may ask for it.
    package var roles: Set<OperatorRole> {
        switch self {
        case .grant, .revoke: [.support, .operator]
        case .resend: [.support, .integrator, .operator]
        case .reprocess: [.operator]
        case .endpointEnable, .endpointDisable, .endpointPause: [.integrator, .operator]
        }
    }

    /// What the target of a change is an id of: the same text may name one thing of each class.
    package enum TargetClass: String, Sendable {
        case customer, delivery, notification, endpoint
    }

    package var targetClass: TargetClass {
        switch self {
        case .grant, .revoke: .customer
        case .resend: .delivery
        case .reprocess: .notification
        case .endpointEnable, .endpointDisable, .endpointPause: .endpoint
        }
    }

    /// Kinds whose target is a customer.
    package static let ofCustomers = allCases.filter { $0.targetClass == .customer }
}
