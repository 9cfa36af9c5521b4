import Base
import CLI
import Database
import Operator

/// An endpoint with its settings, for `endpoints show`.
struct EndpointPage {
    private let health: EndpointHealthPage
    private let settings: EndpointSettings
    private let blocked: Int64
    private let latency: EndpointLatency?

    /// How many blocked deliveries are counted.
    static let blockedLimit = 1000

    /// - Parameters:
    ///   - blocked: how many deliveries wait for an earlier one, counted up to the limit.
    ///   - latency: nil: nothing arrived lately.
    init(_ settings: EndpointSettings, health: EndpointHealthPage, blocked: Int64, latency: EndpointLatency? = nil) {
        self.latency = latency
        self.settings = settings
        self.health = health
        self.blocked = blocked
    }

    private var endpoint: Endpoint { settings.endpoint }

    // MARK: - For machines

    var document: JSON {
        .object(
            (endpoint.document(health).members ?? []) + settings.members + [
                JSON.Member(name: "blocked", value: .int(blocked)),
                JSON.Member(name: "latency", value: latency?.json ?? .null),
                JSON.Member(name: "public_key", value: .text(settings.publicKeys.first?.text)),
            ])
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
            "retries        \(settings.schedule.text): \(settings.schedule.summary) (\(own))",
        ]
        lines += settings.live.secrets.map { "secret         \(EndpointPage.life($0, time))" }
        lines += settings.publicKeys.map { "public key     \($0.text) (\(EndpointPage.life($0.summary, time)))" }
        if let latency {
            lines += [
                "answers        \(EndpointPage.text(latency.answered))",
                "arrival        \(EndpointPage.text(latency.delivered)) after it was made; the newest "
                    + "\(latency.deliveries) since \(time(latency.since))",
            ]
        }
        lines.append("added          \(time(endpoint.created))")
        return lines.joined(separator: "\n")
    }

    private static func text(_ value: EndpointLatency.Percentiles) -> String {
        "p50 \(value.p50) ms, p95 \(value.p95) ms"
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
