import Base
import Postgres

/// What operators do with an event.
package enum EventRepair {
    /// A delivery that goes out again, or for the first time.
    package struct Sent: Sendable, Equatable {
        package let endpoint: String
        package let delivery: DeliveryID
        /// Whether it waits for an earlier one of its purchase.
        package let isBlocked: Bool
    }

    /// An endpoint that does not get it.
    package struct Skipped: Sendable, Equatable {
        package let endpoint: String
        /// As the end of a sentence.
        package let reason: String
    }

    package enum RepairResult: Sendable, Equatable {
        case done([Sent], [Skipped])
        case notFound
        /// Retention has emptied it.
        case gone
    }

    private static let keep = """
        SELECT octet_length(e.body) = 0 AS is_gone, e.type, e.app, e.environment,
            EXISTS (
                SELECT 1 FROM entitled.event_copy c WHERE c.lane = e.lane /* cluster: AND c.lane = $1 */ AND c.id = e.id
            ) AS is_copy
        FROM entitled.event e WHERE e.lane = $1 AND e.id = $2 FOR SHARE OF e
        """

    /// Sends an event again under its id: to each endpoint that has a delivery of it, and for the first time to one that takes
    /// events like it and has none.
    ///
    /// - Parameter only: the id of an endpoint; nil: to all.
    package static func resend(
        _ event: EventSummary, to only: String?, now: Int64, on connection: PostgresConnection
    ) throws -> RepairResult {
        guard let id = UUIDText.bytes(event.id) else { return .notFound }
        let key = DeliveryReplay.EventKey(lane: event.lane, id: id)
        return try connection.joinedTransaction {
            // Before everything else: a consumer may get the events of a purchase in order.
            _ = try Fence.hold([event.lane], on: connection)
            guard let row = try connection.query(keep, [.int2(key.lane.number), .uuid(key.id)]).first else {
                return .notFound
            }
            guard try !row.bool("is_gone") else { return .gone }
            let isForOne = try row.bool("is_copy") || event.type == "TEST"
            var (sent, skipped) = ([Sent](), [Skipped]())
            for endpoint in try EndpointTable.list(id: only, on: connection).sorted(by: { $0.id < $1.id }) {
                let isKnown = try !DeliveryReplay.states(of: [key], to: endpoint.id, on: connection).isEmpty
                guard isKnown || !isForOne && takes(endpoint, event) else {
                    if only != nil {
                        skipped.append(Skipped(endpoint: endpoint.id, reason: "it does not take this event"))
                    }
                    continue
                }
                switch try send(key, isKnown, to: endpoint, now: now, on: connection) {
                case .success(let one): sent.append(one)
                case .failure(let reason): skipped.append(Skipped(endpoint: endpoint.id, reason: reason.text))
                }
            }
            return .done(sent, skipped)
        }
    }

    private struct Reason: Error {
        let text: String
    }

    /// Whether an endpoint gets such an event when it is made.
    package static func takes(_ endpoint: Endpoint, _ event: EventSummary) -> Bool {
        endpoint.format == .revenuecat && !endpoint.isOperations
            && endpoint.wants(type: event.type, app: event.app, environment: event.environment)
    }

    private static let selectReplayable = """
        SELECT e.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.event e ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        WHERE octet_length(e.body) > 0 AND e.type <> 'TEST'
            AND NOT EXISTS (
                SELECT FROM entitled.event_copy c
                WHERE c.lane = e.lane /* cluster: AND c.lane = ANY($1::int2[]) */ AND c.id = e.id)
        """

    /// The ids of those of these events that an endpoint without a delivery of them can still get: retention has not emptied them,
    /// and they were not made for one endpoint alone.
    package static func replayable(_ events: [EventSummary], on connection: PostgresConnection) throws -> Set<String> {
        let keys = events.compactMap { event in UUIDText.bytes(event.id).map { (lane: event.lane.number, id: $0) } }
        let rows = try connection.query(selectReplayable, [.int2s(keys.map(\.lane)), .uuids(keys.map(\.id))])
        return Set(try rows.map { UUIDText.upper(try $0.uuid("id")) })
    }

    private static func send(
        _ key: DeliveryReplay.EventKey, _ isKnown: Bool, to endpoint: Endpoint, now: Int64,
        on connection: PostgresConnection
    ) throws -> Result<Sent, Reason> {
        let id = DeliveryID(lane: key.lane, event: key.id, endpoint: endpoint.id)
        func sent(isBlocked: Bool) -> Result<Sent, Reason> {
            .success(Sent(endpoint: endpoint.id, delivery: id, isBlocked: isBlocked))
        }
        if isKnown {
            switch try DeliveryRepair.resend(id, now: now, on: connection) {
            case .reopened: return sent(isBlocked: false)
            case .blocked: return sent(isBlocked: true)
            case .notFound: return .failure(Reason(text: "its delivery is not kept any more"))
            case .endpointDisabled(let reason): return .failure(Reason(text: "it is disabled (\(reason))"))
            case .gone(let reason): return .failure(Reason(text: reason))
            }
        }
        guard let locked = try DeliveryReplay.lock(endpoint, lanes: [key.lane], on: connection) else {
            return .failure(Reason(text: "it was removed or changed at this moment"))
        }
        if let reason = locked.disabledReason { return .failure(Reason(text: "it is disabled (\(reason))")) }
        let put = try DeliveryReplay.queue(known: [], in: [], new: [key], to: locked, now: now, on: connection)
        guard put.queued == 1 else { return .failure(Reason(text: "it has a delivery since this moment")) }
        let isBlocked = try connection.query(
            "SELECT state = \(DeliveryCode.blocked) AS is_blocked FROM entitled.delivery WHERE lane = $1 AND id = $2",
            [.int2(id.lane.number), .uuid(id.bytes)]
        ).one().bool("is_blocked")
        return sent(isBlocked: isBlocked)
    }
}
