import Base
import Database

/// All that can be set of an endpoint, nothing secret: for `endpoints show`, the API and the console.
package struct EndpointSettings: Sendable {
    package let endpoint: Endpoint
    /// Live secrets and key pairs, by their dates.
    package let live: (secrets: [EndpointSecrets.Summary], keyPairs: [EndpointSecrets.Summary])
    /// Its own, else that of the configuration.
    package let schedule: RetrySchedule

    package init(
        _ endpoint: Endpoint, live: (secrets: [EndpointSecrets.Summary], keyPairs: [EndpointSecrets.Summary]),
        standard: RetrySchedule
    ) {
        self.endpoint = endpoint
        self.live = live
        schedule = endpoint.retrySchedule ?? standard
    }

    package var publicKeys: [(text: String, summary: EndpointSecrets.Summary)] {
        live.keyPairs.compactMap { pair in pair.publicKey.map { (WebhookPublicKey.text($0), pair) } }
    }

    package var members: [JSON.Member] {
        func life(_ summary: EndpointSecrets.Summary) -> [JSON.Member] {
            [
                JSON.Member(name: "created_at", value: .date(summary.created)),
                JSON.Member(name: "expires_at", value: .date(summary.expires)),
            ]
        }
        return [
            JSON.Member(name: "authorization", value: .bool(endpoint.hasAuthorization)),
            JSON.Member(name: "headers", value: .strings(endpoint.headerNames)),
            JSON.Member(
                name: "retry_schedule",
                value: .object([
                    "waits": .strings(schedule.waits.map { Duration.milliseconds($0).text }),
                    "attempts": .int(Int64(schedule.attempts)), "seconds": .int(schedule.waits.reduce(0, +) / 1000),
                    "default": .bool(endpoint.retrySchedule == nil),
                ])),
            JSON.Member(name: "secrets", value: .array(live.secrets.map { .object(life($0)) })),
            JSON.Member(
                name: "public_keys",
                value: .array(
                    publicKeys.map { key in
                        .object([JSON.Member(name: "public_key", value: .string(key.text))] + life(key.summary))
                    })),
        ]
    }
}
