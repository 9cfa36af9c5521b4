/// Where the store keeps a purchase. Xcode's and LocalTesting's never get here.
package enum StoreEnvironment: String, Sendable, Hashable, CaseIterable, Comparable {
    /// The raw values are Apple's spelling (`environment` of a transaction).
    case production = "Production"
    case sandbox = "Sandbox"

    /// The spelling of the event format: upper case.
    package var eventName: String {
        switch self {
        case .production: "PRODUCTION"
        case .sandbox: "SANDBOX"
        }
    }

    /// Production stands before the sandbox.
    package static func < (left: StoreEnvironment, right: StoreEnvironment) -> Bool {
        left == .production && right == .sandbox
    }
}
