import Base
import Database
import Postgres
import Schemas
import Subscriptions

/// The consumers of webhooks.
enum EndpointChecks {
    static let all = [
        Check("endpoints.state") { context, connection in try state(context, connection) },
        Check("endpoints.requests") { context, connection in try requests(context, connection) },
        Check("endpoints.secrets", reading: .worker) { context, connection in try secrets(context, connection) },
    ]

    private static func state(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let endpoints = try EndpointTable.list(on: connection)
        guard !endpoints.isEmpty else {
            return [.warning("there is no endpoint: no webhooks are sent", "entitled endpoints add URL")]
        }
        let now = context.clock.now()
        return try endpoints.map { endpoint in
            let name = "\(endpoint.id) (\(host(of: endpoint.url)))"
            if let reason = endpoint.disabledReason {
                return .warning(
                    "\(name) is disabled: \(reason); its events are held", "entitled endpoints enable \(endpoint.id)")
            }
            if endpoint.pausedUntil > now {
                return .warning(
                    "\(name) is paused at its consumer's request until \(Timestamp.text(endpoint.pausedUntil))", nil)
            }
            guard let failure = try failure(of: endpoint.id, on: connection) else { return .ok("\(name) is enabled") }
            return .warning(
                "\(name) fails: webhooks are retried, last answer \(failure)",
                "entitled deliveries list --endpoint \(endpoint.id)")
        }
    }

    /// Consumers that are to answer Apple's consumption requests hear of them only where an endpoint names the type.
    private static func requests(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let asking = context.configuration.apps.filter { $0.refunds.policy == .ask }
        guard !asking.isEmpty else { return [] }
        let type = EventType.consumptionRequest.rawValue
        let hearing = try EndpointTable.list(on: connection).filter { $0.isEnabled && $0.events.contains(type) }
        return asking.map { app in
            hearing.contains { $0.apps.isEmpty || $0.apps.contains(app.id) }
                ? .ok("an endpoint gets the consumption requests of \(app.id)")
                : .warning(
                    "no endpoint selects \(type): no consumer receives the consumption requests of \(app.id), whose refunds.policy"
                        + " is ask", "entitled endpoints add URL --event \(type)")
        }
    }

    /// Without path and query, which may hold a secret.
    private static func host(of url: String) -> String {
        let parts = url.split(separator: "/", maxSplits: 2, omittingEmptySubsequences: true)
        return parts.count > 1 ? String(parts[1].split(separator: "@").last ?? "") : "?"
    }

    /// Those that are tried again have the latest times, so this passes no others.
    private static let waiting = """
        SELECT d.last_status FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT last_status, attempts, next_ms FROM entitled.delivery
            WHERE lane = l.lane AND endpoint = $1 AND state = \(DeliveryCode.pending) ORDER BY next_ms DESC LIMIT 1
        ) d
        WHERE d.attempts > 0 ORDER BY d.next_ms DESC LIMIT 1
        """

    private static func failure(of endpoint: String, on connection: PostgresConnection) throws -> String? {
        guard let row = try connection.query(waiting, [.text(endpoint)]).first else { return nil }
        return try row.optionalInt("last_status").map { "\($0)" } ?? "none"
    }

    private static func secrets(_ context: CheckContext, _ connection: PostgresConnection) throws -> [Finding] {
        let configuration = context.configuration
        let sealer = try SealingKeys.existing(configuration) ?? SecretSealer(keys: [])
        let broken = try EndpointTable.load(sealer: sealer, now: context.clock.now(), on: connection)
            .filter { !$0.isSendable }
        if let missing = try SealingKeyRegister.missing(from: sealer, on: connection) {
            let names = broken.map(\.id).joined(separator: ", ")
            return [
                .error(
                    "the key \(missing), which seals webhook secrets, is not on this host: "
                        + (broken.isEmpty
                            ? "no endpoint can be added here" : "webhooks cannot be signed here for \(names)"),
                    SealingKeys.remedy(configuration))
            ]
        }
        guard broken.isEmpty else {
            return broken.map { endpoint in
                .error(
                    "no key on this host opens the \(endpoint.unreadable.map(\.text).joined(separator: ", ")) of "
                        + "\(endpoint.id): nothing is sent to it",
                    "give the key that sealed it in webhooks.secret_keys; if it is lost: "
                        + UnreadableEndpoints.remedies(endpoint.id, endpoint.unreadable).joined(separator: "; "))
            }
        }
        guard !sealer.fingerprints.isEmpty else { return [.ok("there is no secret yet")] }
        let place =
            configuration.webhooks.secretKeys.isEmpty
            ? "; their key is only in \(SealingKeys.path(configuration)): back it up, or better set webhooks.secret_keys"
            : ""
        return [.ok("the secrets of all endpoints can be read\(place)")]
    }
}
