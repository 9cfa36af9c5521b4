import Base

/// Apple's 401: it has no body, so the reason is looked for here.
package struct Unauthorized: Sendable, Equatable {
    package let environment: StoreEnvironment
    package let bundleID: String
    /// All that were tried.
    package let keyIDs: [String]
    /// Seconds by which our clock is ahead of Apple's; nil where Apple did not say.
    package let skew: Int64?

    /// Beyond this Apple takes a token for one of the future or of the past.
    private static let tolerance: Int64 = 60

    package var isClockWrong: Bool { abs(skew ?? 0) > Unauthorized.tolerance }
}

extension Unauthorized: CustomStringConvertible {
    package var description: String {
        let keys = keyIDs.joined(separator: " and ")
        let refused = "Apple rejected the key \(keys) (401, \(environment.rawValue))"
        if isClockWrong, let skew {
            let side = skew > 0 ? "ahead of" : "behind"
            return "\(refused): this host's clock is \(abs(skew)) s \(side) Apple's; correct it"
        }
        let production =
            environment == .production
            ? "; an app that was never released in the App Store is rejected in Production whatever the key" : ""
        return
            "\(refused) and gave no reason: check issuer_id and key_id, that bundle_id \(bundleID) is right, and in"
            + " App Store Connect that the key is an In-App Purchase key and was not revoked\(production)"
    }
}
