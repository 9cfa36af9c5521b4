import Base
import Database

extension Endpoint {
    /// - Parameter url: as it is shown; nil: whole.
    package func document(_ health: EndpointHealthPage, url shown: String? = nil) -> JSON {
        .object([
            "id": .string(id), "url": .string(shown ?? url), "state": .string(isEnabled ? "enabled" : "disabled"),
            "disabled_reason": .text(disabledReason), "disabled_code": .text(health.disablingCode),
            "environments": .strings(environments.map(\.rawValue)),
            "events": .strings(events), "apps": .strings(apps), "format": .string(formatName),
            "excepted_events": .strings(exceptedEvents), "includes_subscriber": .bool(includesSubscriber),
            "extension_version": .text(extensionVersion),
            "ordering": .string(ordering.rawValue), "created_at": .date(created),
            "is_operations": .bool(isOperations), "health": health.document,
        ])
    }

    /// Without its query and user, which may hold a secret.
    package var publicURL: String { Endpoint.publicURL(of: url) }

    package static func publicURL(of url: String) -> String {
        var text = url.prefix { $0 != "?" && $0 != "#" }[...]
        if let scheme = text.firstRange(of: "://") {
            let rest = text[scheme.upperBound...]
            let authority = rest.prefix { $0 != "/" }
            if let at = authority.lastIndex(of: "@") {
                text = text[..<scheme.upperBound] + rest[rest.index(after: at)...]
            }
        }
        return String(text)
    }
}

/// An endpoint in a list.
package struct EndpointRow: DeskAnswer {
    package let endpoint: Endpoint
    package let health: EndpointHealthPage
    /// Nil: nothing arrived lately.
    package let latency: EndpointLatency?

    package init(endpoint: Endpoint, health: EndpointHealthPage, latency: EndpointLatency?) {
        (self.endpoint, self.health, self.latency) = (endpoint, health, latency)
    }

    package var url: String { endpoint.publicURL }

    package var json: JSON { EndpointRow.document(endpoint.document(health, url: url), latency) }

    /// A document of an endpoint with how long its deliveries took, as lists have it.
    package static func document(_ endpoint: JSON, _ latency: EndpointLatency?) -> JSON {
        .object((endpoint.members ?? []) + [JSON.Member(name: "latency", value: latency?.json ?? .null)])
    }
}

/// An endpoint with its settings and what waits for it.
package struct EndpointAnswer: DeskAnswer {
    package let row: EndpointRow
    package let settings: EndpointSettings
    package let pending: CappedCount
    package let held: CappedCount
    package let blocked: CappedCount

    package var endpoint: Endpoint { row.endpoint }
    package var latency: EndpointLatency? { row.latency }

    package var json: JSON {
        let backlog = JSON.object(["pending": pending.json, "held": held.json, "blocked": blocked.json])
        return .object(
            (endpoint.document(row.health, url: row.url).members ?? []) + settings.members + [
                JSON.Member(name: "backlog", value: backlog),
                JSON.Member(name: "latency", value: latency?.json ?? .null),
            ])
    }
}

extension EndpointLatency {
    package var json: JSON {
        func percentiles(_ value: Percentiles) -> JSON {
            .object(["p50_ms": .int(value.p50), "p95_ms": .int(value.p95)])
        }
        return .object([
            "deliveries": .int(deliveries), "since": .date(since), "answered": percentiles(answered),
            "delivered": percentiles(delivered),
        ])
    }
}
