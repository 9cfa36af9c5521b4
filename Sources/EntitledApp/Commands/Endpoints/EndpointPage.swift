import Base
import CLI
import Database
import Operator

/// All that can be set of an endpoint, for `endpoints show`; nothing secret.
struct EndpointPage {
    private let endpoint: Endpoint
    private let health: EndpointHealthPage
    private let live: (secrets: [EndpointSecrets.Summary], keyPairs: [EndpointSecrets.Summary])
    private let schedule: RetrySchedule
    private let blocked: Int64

    /// How many blocked deliveries are counted.
    static let blockedLimit = 1000

    /// - Parameters:
    ///   - standard: the configuration's schedule.
    ///   - blocked: how many deliveries wait for an earlier one, counted up to the limit.
    init(
        _ endpoint: Endpoint, health: EndpointHealthPage,
        live: (secrets: [EndpointSecrets.Summary], keyPairs: [EndpointSecrets.Summary]),
        standard: RetrySchedule, blocked: Int64
    ) {
        self.endpoint = endpoint
        self.health = health
        self.live = live
        self.blocked = blocked
        schedule = endpoint.retrySchedule ?? standard
    }

    // MARK: - For machines

    var document: JSON {
        let more = JSON.object([
            "authorization": .bool(endpoint.hasAuthorization), "headers": .strings(endpoint.headerNames),
            "retry_schedule": .object([
                "waits": .strings(schedule.waits.map { Duration.milliseconds($0).text }),
                "attempts": .int(Int64(schedule.attempts)), "seconds": .int(schedule.waits.reduce(0, +) / 1000),
                "default": .bool(endpoint.retrySchedule == nil),
            ]),
            "secrets": .array(
                live.secrets.map { .object(["created_at": .date($0.created), "expires_at": .date($0.expires)]) }),
            "blocked": .int(blocked), "public_key": .text(publicKeys.first?.text),
            "public_keys": .array(
                publicKeys.map {
                    .object([
                        "public_key": .string($0.text), "created_at": .date($0.summary.created),
                        "expires_at": .date($0.summary.expires),
                    ])
                }),
        ])
        return .object((endpoint.document(health).members ?? []) + (more.members ?? []))
    }

    private var publicKeys: [(text: String, summary: EndpointSecrets.Summary)] {
        live.keyPairs.compactMap { pair in
            pair.publicKey.map { (WebhookPublicKey.text($0), pair) }
        }
    }

    // MARK: - For people

    /// - Parameter time: how instants are written.
    func text(_ time: (Int64) -> String) -> String {
        let own = endpoint.retrySchedule == nil ? "as configured" : "its own"
        var lines = [
            endpoint.id,
            "url            \(Terminal.harmless(endpoint.url))",
            "state          \(Terminal.harmless(endpoint.stateText))",
            "health         \(Terminal.harmless(health.text(time)))",
            "gets           \(Terminal.harmless(endpoint.filterText))",
        ]
        if !endpoint.isOperations {
            lines += [
                "format         \(endpoint.formatName)\(contentText)",
                "ordering       \(endpoint.ordering.rawValue)\(blockedText)",
            ]
        }
        lines += [
            "authorization  \(endpoint.hasAuthorization ? "set" : "none")",
            "headers        \(endpoint.headerNames.isEmpty ? "none" : endpoint.headerNames.joined(separator: ", "))",
            "retries        \(schedule.text): \(schedule.summary) (\(own))",
        ]
        lines += live.secrets.map { "secret         \(EndpointPage.life($0, time))" }
        lines += publicKeys.map { "public key     \($0.text) (\(EndpointPage.life($0.summary, time)))" }
        lines.append("added          \(time(endpoint.created))")
        return lines.joined(separator: "\n")
    }

    private var contentText: String {
        if let version = endpoint.extensionVersion { return ", version \(Terminal.harmless(version))" }
        return endpoint.includesSubscriber ? ", with the customer" : ""
    }

    private var blockedText: String {
        guard blocked > 0 else { return "" }
        let least = blocked < EndpointPage.blockedLimit ? "" : "at least "
        return "; \(least)\(blocked) wait for an earlier event of their purchase"
    }

    private static func life(_ summary: EndpointSecrets.Summary, _ time: (Int64) -> String) -> String {
        "since \(time(summary.created))" + (summary.expires.map { " until \(time($0))" } ?? "")
    }
}
