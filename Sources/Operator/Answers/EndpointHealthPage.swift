import Base
import Database
import Postgres
import Worker

/// How an endpoint is doing, for people and as JSON.
package struct EndpointHealthPage {
    /// What is known of all endpoints that were asked for.
    package struct Index {
        fileprivate let health: [String: EndpointHealth]
        fileprivate let disablings: [String: EndpointDisabling]
        fileprivate let policy: HealthPolicy

        package func of(_ endpoint: Endpoint) -> EndpointHealthPage {
            EndpointHealthPage(
                endpoint: endpoint, health: health[endpoint.id] ?? EndpointHealth(endpoint: endpoint.id),
                disabling: disablings[endpoint.id], policy: policy)
        }
    }

    private let endpoint: Endpoint
    private let health: EndpointHealth
    private let disabling: EndpointDisabling?
    private let policy: HealthPolicy

    package static func load(
        id: String? = nil, _ policy: HealthPolicy, on connection: PostgresConnection
    ) throws -> Index {
        Index(
            health: try EndpointHealthTable.load(id: id, on: connection),
            disablings: try EndpointHealthTable.disablings(id: id, on: connection),
            policy: policy)
    }

    /// `operator`, `gone`, `asked` or `failing`; nil while it is enabled.
    package var disablingCode: String? {
        endpoint.isEnabled ? nil : (disabling ?? .byOperator).rawValue
    }

    /// `ok`, `failing`, `disabled`, or `new` where nothing was sent yet.
    package var word: String {
        if !endpoint.isEnabled { return "disabled" }
        if health.streak != nil { return "failing" }
        return health.lastSuccess == nil ? "new" : "ok"
    }

    /// When the failures without a success between them began; ms since 1970.
    package var failingSince: Int64? { health.streak?.since }
    /// ms since 1970.
    package var lastSuccess: Int64? { health.lastSuccess }

    /// Nothing disables the endpoint of operations.
    private var disablesAt: Int64? {
        endpoint.isEnabled && !endpoint.isOperations ? policy.forecast(health.streak) : nil
    }

    package var document: JSON {
        .object([
            "state": .string(word), "failing_since": .date(health.streak?.since),
            "failures": .int(health.streak?.failures ?? 0), "last_success_at": .date(health.lastSuccess),
            "last_failure": .text(health.lastFailure?.outcome), "last_failure_at": .date(health.lastFailure?.at),
            "disables_at": .date(disablesAt),
        ])
    }

    /// - Parameter time: how instants are written.
    package func text(_ time: (Int64) -> String) -> String {
        var text = word
        if word == "ok", let failure = health.lastFailure, let success = health.lastSuccess, failure.at > success {
            text = "not tried since the last failure"
        }
        if let streak = health.streak {
            text += endpoint.isEnabled ? " since " : "; failing since "
            text += "\(time(streak.since)): \(streak.failures == 1 ? "1 failure" : "\(streak.failures) failures")"
        }
        if let failure = health.lastFailure {
            text += "; last failure \(failure.outcome) at \(time(failure.at))"
        }
        text += health.lastSuccess.map { "; last success at \(time($0))" } ?? "; no success yet"
        if let disablesAt {
            let least = HealthPolicy.leastFailures
            let missing = (health.streak?.failures ?? 0) < least ? ", once \(least) attempts failed" : ""
            text += "; will be disabled at \(time(disablesAt))\(missing), unless it answers"
        }
        return text
    }
}
