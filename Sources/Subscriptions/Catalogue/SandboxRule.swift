import Base

/// Whether sandbox purchases give entitlements (`entitlements_from_sandbox`).
package enum SandboxRule: Sendable, Equatable {
    case all
    case none
    /// Only to customers with one of these ids.
    case customers(Set<String>)

    package func grants(_ environment: StoreEnvironment, to appUserIDs: [String]) -> Bool {
        guard environment == .sandbox else { return true }
        switch self {
        case .all: return true
        case .none: return false
        case .customers(let ids): return appUserIDs.contains(where: ids.contains)
        }
    }
}
