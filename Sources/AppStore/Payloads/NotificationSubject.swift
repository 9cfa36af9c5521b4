/// The app and the environment that a notification is about.
package struct NotificationSubject: WirePayload, Equatable {
    package let bundleId: String?
    /// Always there in production; in the sandbox not in every notification.
    package let appAppleId: Int64?
    /// "Sandbox", "Production", or what else was signed.
    package let environment: String?

    init(bundleId: String?, appAppleId: Int64?, environment: String?) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
    }

    package init(_ members: Members) {
        self.init(
            bundleId: members.text("bundleId"), appAppleId: members.integer("appAppleId"),
            environment: members.text("environment"))
    }
}
