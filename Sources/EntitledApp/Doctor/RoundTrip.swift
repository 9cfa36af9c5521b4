import AppStore
import AppStoreAPI
import Base
import CLI
import Daemon
import Database
import Postgres
import Schemas

/// Has Apple send a test notification, and waits for it in our database.
struct RoundTrip {
    private let app: Configuration.App
    private let environment: StoreEnvironment
    private let context: CheckContext

    private static let interval = Duration.milliseconds(500)

    init(_ app: Configuration.App, _ environment: StoreEnvironment, _ context: CheckContext) {
        self.app = app
        self.environment = environment
        self.context = context
    }

    private var name: String { "\(app.id), \(environment.rawValue)" }

    func run() throws -> [Finding] {
        try context.withApple(app, run) ?? []
    }

    private func run(_ client: ServerAPIClient) throws -> [Finding] {
        let connection = try context.connect(.api)
        let known = try arrived(connection)
        let token: String
        do throws(ServerAPIError) {
            token = try client.requestTestNotification(in: environment, options)
        } catch {
            // A key that does not work has its own line.
            if case .unauthorized = error {
                return [.warning("\(name): no test notification, because Apple rejects the key", nil)]
            }
            return [.error("\(name): Apple sends no test notification: \(error)", AppleChecks.action(error))]
        }
        let begun = ContinuousClock.now
        // What Apple says half-way spares waiting for what failed already.
        for share in [0.5, 1] {
            if try waits(for: known, since: begun, until: context.patience * share, connection) {
                let took = RelativeTime.text((ContinuousClock.now - begun).milliseconds)
                return [.ok("\(name): Apple's test notification arrived within \(took)")]
            }
            let status = try client.testNotificationStatus(token, in: environment, options)
            if let status, !status.attempts.isEmpty || share == 1 { return try [judged(status, connection)] }
        }
        return [
            .warning(
                "\(name): Apple accepted the request for a test notification, but did not send it within"
                    + " \(context.patience.text)", "repeat the check in a few minutes")
        ]
    }

    private var options: CallOptions { CallOptions(within: AppleChecks.patience) }

    // MARK: - Waiting

    /// Ingest hosts number by their own clocks.
    private static let slack: Int64 = 30_000

    private static let tests = """
        SELECT n.uuid FROM entitled.lane l CROSS JOIN LATERAL (
            SELECT uuid, type, app, environment FROM entitled.notification WHERE lane = l.lane AND seq >= $1
        ) n
        WHERE n.type = 'TEST' AND n.app = $2 AND n.environment = $3
        """

    private func arrived(_ connection: PostgresConnection) throws -> Set<String> {
        let since = SequenceGenerator.least(at: context.clock.now() - RoundTrip.slack - context.patience.milliseconds)
        let rows = try connection.query(
            RoundTrip.tests, [.int8(since), .text(app.id), .int2(environment.code)])
        return Set(try rows.map { try $0.text("uuid") })
    }

    /// - Returns: whether a test notification came that was not known.
    private func waits(
        for known: Set<String>, since begun: ContinuousClock.Instant, until time: Duration,
        _ connection: PostgresConnection
    ) throws -> Bool {
        let pause = Monitor(())
        while true {
            if try !arrived(connection).isSubset(of: known) { return true }
            let passed = ContinuousClock.now - begun
            guard passed < time else { return false }
            context.progress(passed / context.patience, "waiting for Apple's test notification (\(name))")
            _ = pause.wait(timeout: RoundTrip.interval) { _ in nil as Bool? }
        }
    }

    // MARK: - What Apple says

    private func judged(_ status: NotificationHistoryItem, _ connection: PostgresConnection) throws -> Finding {
        // It may have come while Apple was asked.
        if case .success(let data) = status.data, let uuid = data.notification?.notificationUUID,
            try arrived(connection).contains(uuid)
        {
            return .ok("\(name): Apple's test notification arrived")
        }
        guard let last = status.attempts.last?.result else {
            return .warning("\(name): Apple has not tried to send its test notification yet", "run it again")
        }
        guard last != .success else {
            return .error(
                "\(name): Apple delivered its test notification, but not to this installation",
                "compare the URL in App Store Connect with this installation's, and the configured database with that of ingest"
            )
        }
        let told = status.attempts.compactMap(\.result?.rawValue).joined(separator: ", ")
        return .error(
            "\(name): Apple could not deliver its test notification: \(last.meaning) (\(told))",
            "open the URL of App Store Connect from outside; the log of ingest has the rejections")
    }
}
