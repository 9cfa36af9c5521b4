import AppStore
import AppStoreAPI
import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled apple test-notification`: from a request at Apple to the row in the database.
struct AppleTestNotificationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "test-notification", "Request a test notification from Apple and wait for it.",
        discussion:
            "Shows each attempt of Apple's with its result, and whether the notification is in the database. Exit status 1"
            + " where it did not arrive in time.",
        examples: ["apple test-notification", "apple test-notification --environment Sandbox"])

    @OptionGroup private var target: AppleTarget
    @Option("--timeout", .integer(1...600, "SECONDS"), "Seconds to wait; default: 60.") private var seconds: Int64 = 60

    private var timeout: Duration { .seconds(seconds) }

    /// Between two questions; Apple's own limit slows them down further.
    private static let interval = Duration.seconds(1)

    /// How far it got.
    private struct Outcome {
        var uuid: String?
        var attempts: [SendAttempt] = []
        /// Nil where there is no database to look into.
        var isStored: Bool?

        var wasDelivered: Bool { attempts.contains { $0.result == .success } }
        var isDone: Bool { isStored ?? wasDelivered }
        /// In the sandbox Apple tries once.
        func isOver(_ environment: StoreEnvironment) -> Bool {
            isDone || (environment == .sandbox && !attempts.isEmpty && !wasDelivered)
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        // Without a database Apple's own word has to do.
        let connection = try? DatabaseAccess(configuration).connect(.api)
        return try AppleSession.with(target, configuration, context) { session in
            let environment = session.environment(target)
            let token = try session.client.requestTestNotification(in: environment, CallOptions(within: timeout))
            if !context.json {
                context.terminal.print("Apple is asked for a test notification (\(environment.rawValue))")
            }
            let outcome = try follow(token, session, environment, connection)
            show(outcome, token, session, environment, context)
            return outcome.isDone ? ExitStatus.done : ExitStatus.failed
        }
    }

    private func follow(
        _ token: String, _ session: AppleSession, _ environment: StoreEnvironment, _ connection: PostgresConnection?
    ) throws -> Outcome {
        let deadline = ContinuousClock.now + timeout
        var outcome = Outcome(isStored: connection == nil ? nil : false)
        while !outcome.isOver(environment), ContinuousClock.now < deadline {
            do throws(ServerAPIError) {
                var options = CallOptions()
                options.deadline = deadline
                if let known = try session.client.testNotificationStatus(token, in: environment, options) {
                    outcome.attempts = known.attempts
                    outcome.uuid = try uuid(known)
                }
            } catch {
                guard error.isRetryable else { throw error }
            }
            if let connection, let uuid = outcome.uuid {
                outcome.isStored = try isStored(uuid, session.app.id, environment, connection)
            }
            if !outcome.isOver(environment) { Pause.wait(AppleTestNotificationCommand.interval) }
        }
        return outcome
    }

    private func uuid(_ known: NotificationHistoryItem) throws(ServerAPIError) -> String? {
        switch known.data {
        case .success(let data): return data.notification?.notificationUUID
        case .failure(let failure): throw .untrusted(place: "signedPayload", failure)
        }
    }

    private func isStored(
        _ uuid: String, _ app: String, _ environment: StoreEnvironment, _ connection: PostgresConnection
    ) throws -> Bool {
        let found = try NotificationQuery.find(uuid: uuid, app: app, environment: environment, on: connection)
        return !found.whole.isEmpty
    }

    private func show(
        _ outcome: Outcome, _ token: String, _ session: AppleSession, _ environment: StoreEnvironment,
        _ context: CommandContext
    ) {
        if context.json {
            context.terminal.document(
                .object([
                    "app": .string(session.app.id), "environment": .string(environment.rawValue),
                    "token": .string(token), "uuid": .text(outcome.uuid),
                    "attempts": AppleTables.document(outcome.attempts),
                    "stored": outcome.isStored.map { .bool($0) } ?? .null, "arrived": .bool(outcome.isDone),
                ]))
            return
        }
        for attempt in outcome.attempts {
            let result = attempt.result
            context.terminal.print(
                "\(AppleTables.date(attempt.date))  \(result?.meaning ?? "no result") (\(result?.rawValue ?? "-"))")
        }
        guard !outcome.isDone else {
            let place = outcome.isStored == nil ? "delivered, Apple says" : "in the database"
            context.terminal.print("arrived: \(outcome.uuid ?? "") is \(place)")
            return
        }
        context.terminal.complain(advice(outcome))
    }

    private func advice(_ outcome: Outcome) -> String {
        if outcome.attempts.isEmpty { return "Apple reported no attempt within \(timeout.text)" }
        if !outcome.wasDelivered {
            return "it did not arrive: check the URL in App Store Connect, and that it leads to `entitled ingest`"
        }
        return "Apple delivered it, but not here: the URL in App Store Connect leads elsewhere, or another database"
            + " takes it"
    }
}
