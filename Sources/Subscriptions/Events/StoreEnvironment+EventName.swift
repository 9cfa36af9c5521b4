import Base

extension StoreEnvironment {
    /// The spelling of the event format: upper case.
    package var eventName: String {
        switch self {
        case .production: "PRODUCTION"
        case .sandbox: "SANDBOX"
        }
    }
}
