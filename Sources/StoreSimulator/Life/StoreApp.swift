/// The app whose store is simulated, in one environment.
package struct StoreApp: Sendable, Equatable {
    package var bundleID: String
    package var appleAppID: Int64
    /// `Sandbox` or `Production`; a test may take any other word.
    package var environment: String
    package var bundleVersion: String

    package init(
        bundleID: String = "com.example.app", appleAppID: Int64 = 1_234_567_890, environment: String = "Sandbox",
        bundleVersion: String = "637"
    ) {
        self.bundleID = bundleID
        self.appleAppID = appleAppID
        self.environment = environment
        self.bundleVersion = bundleVersion
    }

    package var isSandbox: Bool { environment != "Production" }

    /// `appAppleId`, `bundleId`, `environment`. Apple leaves the first out of sandbox tests, but of nothing else.
    func members(withID: Bool = true) -> PayloadMembers {
        var members = PayloadMembers()
        members.integer("appAppleId", withID || !isSandbox ? appleAppID : nil)
        members.text("bundleId", bundleID)
        members.text("environment", environment)
        return members
    }
}
