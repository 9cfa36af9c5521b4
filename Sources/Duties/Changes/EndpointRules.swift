import HTTP

/// What the configuration of a worker says of endpoints that operators add or change.
package struct EndpointRules: Sendable {
    /// Ids of the apps, in their order.
    package let apps: [String]
    package let address: WebhookAddress

    package init(apps: [String] = [], address: WebhookAddress = WebhookAddress()) {
        (self.apps, self.address) = (apps, address)
    }
}
