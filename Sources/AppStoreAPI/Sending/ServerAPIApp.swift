import AppStore
import Base

/// The app that a client asks about.
package struct ServerAPIApp: Sendable {
    package let id: String
    package let bundleID: String
    package let appleAppID: Int64?
    /// Those that the installation takes data of; no other is asked.
    package let environments: [StoreEnvironment]
    /// Servers in place of Apple's, without a slash at the end.
    package let baseURLs: [StoreEnvironment: String]

    package init(
        id: String, bundleID: String, appleAppID: Int64?, environments: [StoreEnvironment],
        baseURLs: [StoreEnvironment: String] = [:]
    ) {
        self.id = id
        self.bundleID = bundleID
        self.appleAppID = appleAppID
        self.environments = environments
        self.baseURLs = baseURLs
    }

    /// Apple's hosts (https://developer.apple.com/documentation/appstoreserverapi), or what replaces them.
    func baseURL(_ environment: StoreEnvironment) -> String {
        if let other = baseURLs[environment] { return other }
        return switch environment {
        case .production: "https://api.storekit.apple.com"
        case .sandbox: "https://api.storekit-sandbox.apple.com"
        }
    }

    /// What data from that environment must be signed for.
    func identity(_ environment: StoreEnvironment) -> Identity {
        Identity(bundleID: bundleID, appleAppID: appleAppID, environments: [environment])
    }
}
