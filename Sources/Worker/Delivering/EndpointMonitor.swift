import Base
import Daemon
import Database
import Postgres

/// The leader's work for endpoints: warns of endpoints that fail, disables them when it has been too
/// long, and tells operators. All of it follows from rows, so that the next leader goes on with it.
struct EndpointMonitor {
    private let policy: HealthPolicy
    /// Whether there is an operations endpoint; what happens is in the log in any case.
    private let tells: Bool
    private let logger: Logger
    private let metrics: Metrics
    /// Of each statement.
    private let timeout: String

    /// What is told in one transaction.
    private static let limit = 64
    /// For an endpoint's row, which makers of events may keep locked: the lanes do not wait for it.
    private static let lockPatience = "100ms"

    init(policy: HealthPolicy, tells: Bool, lease: Duration, logger: Logger, metrics: Metrics) {
        self.policy = policy
        self.tells = tells
        self.logger = logger
        self.metrics = metrics
        timeout = "\(max(500, lease.milliseconds / 4))ms"
    }

    func take(_ leases: LaneLeases, now: Int64, on connection: PostgresConnection) throws {
        guard leases.epochs[Lane.first] != nil else {
            metrics.gauge(.endpointsFailing, 0)
            return
        }
        let concerns = try bounded(connection) { try EndpointHealthTable.concerns(on: connection) }
        let failing = concerns.filter { policy.judge($0.health, now: now).warnings > 0 && $0.disabledReason == nil }
        metrics.gauge(.endpointsFailing, Double(failing.count))
        let notices = concerns.flatMap { EndpointNotice.all(of: $0, policy: policy, now: now) }
        try tell(Array(notices.prefix(EndpointMonitor.limit)), leases, on: connection)
        for concern in failing where policy.judge(concern.health, now: now).disables {
            try disable(concern, on: connection)
        }
    }

    /// Events and what is noted of them, or neither; under the fence of the first lane, in which the events are.
    private func tell(
        _ notices: [EndpointNotice], _ leases: LaneLeases, on connection: PostgresConnection
    ) throws {
        guard !notices.isEmpty else { return }
        let isOurs = try connection.transaction {
            let passed = try Fence.pass([Lane.first], leases: leases, on: connection)
            guard passed.lanes.contains(Lane.first) else { return false }
            if tells {
                _ = try EventTable.insert(notices.map(\.event.event), now: passed.now, on: connection)
            }
            for notice in notices {
                try EndpointHealthTable.mark(notice.mark, of: notice.endpoint, on: connection)
            }
            return true
        }
        guard isOurs else { return }
        for notice in notices {
            metrics.count(.endpointNotices, ["type": notice.event.kind.rawValue])
            report(notice)
        }
    }

    private func report(_ notice: EndpointNotice) {
        let fields: Logger.Fields = ["endpoint": .string(notice.endpoint), "data": notice.event.data]
        switch notice.event.kind {
        case .failing: logger.warning("endpoint failing", fields)
        case .disabled: logger.warning("endpoint disabled", fields)
        case .recovered: logger.info("endpoint recovered", fields)
        case .dead: logger.warning("dead deliveries reported", fields)
        case .test: logger.warning("test notice sent", fields)
        // The duty that notices it tells it.
        case .databaseReturned: break
        }
    }

    /// In a transaction of its own: no data transaction waits for an endpoint's row. That it is disabled is told at the
    /// next look, from its row.
    private func disable(_ concern: NoticeCandidate, on connection: PostgresConnection) throws {
        guard let since = concern.health.streak?.since else { return }
        _ = try bounded(connection, lock: EndpointMonitor.lockPatience) {
            try EndpointTable.disable(
                concern.health.endpoint, because: .failing, failingSince: since, on: connection)
        }
    }

    private func bounded<Result>(
        _ connection: PostgresConnection, lock patience: String? = nil, _ body: () throws -> Result
    ) throws -> Result {
        let limits = PostgresStatement(
            """
            SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $2, true),
                \(Durability.setting)
            """, [.text(timeout), .text(patience ?? timeout)])
        return try connection.transaction(opening: [limits]) { _ in try body() }
    }
}
