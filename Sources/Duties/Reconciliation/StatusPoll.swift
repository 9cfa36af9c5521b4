import AppStoreAPI
import Base
import Daemon
import Database
import Ingest
import Postgres
import Subscriptions

/// Asks Apple how purchases stand of which news is missing: one of each app and environment a turn.
///
/// What Apple answers is put in line with the time of the next question, so that the process that goes on begins there.
struct StatusPoll {
    private let duties: [(place: AppScope, client: ServerAPIClient)]
    private let foldSettings: FoldSettings
    private let cancellation: Cancellation
    private let logger: Logger
    private let metrics: Metrics
    private let dictionaries = HeaderDictionaries()
    private let failures = RepeatedFailure()
    private var intake: HistoryAppender
    /// By the app.
    private var budgets: [String: HourlyRate]
    /// Until when nothing is asked, after a failure that is not the purchase's own; in ms.
    private var pauses: [AppScope: Int64] = [:]

    private static let batch = 32
    private static let countLimit = 1000
    private static let callTime = Duration.seconds(15)
    /// After what passes by itself, and after what an operator has to mend, in ms.
    private static let pause: Int64 = 300_000
    private static let longPause: Int64 = 3_600_000
    /// How long what Apple does not know is left alone, in ms.
    private static let strangerPause: Int64 = 30 * 86_400_000

    init(
        _ configuration: ReconciliationDutyConfiguration, _ cancellation: Cancellation, _ logger: Logger,
        _ metrics: Metrics
    ) {
        duties =
            configuration.statusCallsPerHour > 0 ? configuration.duties.map { ($0.place, $0.reader.client) } : []
        foldSettings = configuration.foldSettings
        self.cancellation = cancellation
        self.logger = logger
        self.metrics = metrics
        intake = HistoryAppender(clock: configuration.clock)
        budgets = Dictionary(
            duties.map { ($0.place.app, HourlyRate(perHour: configuration.statusCallsPerHour)) }
        ) { first, _ in first }
    }

    /// - Returns: whether there may be more to do at once.
    mutating func take(_ leadership: Leadership, on connection: PostgresConnection) throws -> Bool {
        guard !duties.isEmpty else { return false }
        let (now, isLeader) = try leadership.check(on: connection)
        var hasMore = false
        for (place, client) in duties where !cancellation.isCancelled {
            let due = try StatusPollTable.countDue(at: place, now: now, atMost: StatusPoll.countLimit, on: connection)
            metrics.gauge(.statusLooks, Double(due), labels(place))
            guard isLeader, due > 0 else { continue }
            do {
                if try take(place, client, now, leadership, on: connection) { hasMore = true }
            } catch is Leadership.Lost {
                return false
            }
        }
        return hasMore
    }

    /// Drops what is not missing any more, and asks about the first purchase that is.
    private mutating func take(
        _ place: AppScope, _ client: ServerAPIClient, _ now: Int64, _ leadership: Leadership,
        on connection: PostgresConnection
    ) throws -> Bool {
        let looks = try StatusPollTable.due(at: place, now: now, atMost: StatusPoll.batch, on: connection)
        let known = try FactTable.load(looks.map(\.key), on: connection)
        var wanted: StatusPollTable?
        var settled: [StatusPollTable] = []
        for (look, facts) in zip(looks, known) {
            let end = Purchase(folding: facts, key: look.key, foldSettings: foldSettings)?.endWithoutWord(at: now)
            if end == look.end {
                wanted = wanted ?? look
            } else {
                settled.append(look)
            }
        }
        if !settled.isEmpty {
            try leadership.transaction(on: connection) { _ in
                for look in settled { try look.move(to: nil, on: connection) }
            }
        }
        guard let wanted else { return !looks.isEmpty }
        guard budgets[place.app]?.allows(at: now) ?? false, now >= pauses[place] ?? .min else { return false }
        budgets[place.app]?.spend(at: now)
        try ask(wanted, place, client, now, leadership, on: connection)
        return true
    }

    private mutating func ask(
        _ look: StatusPollTable, _ place: AppScope, _ client: ServerAPIClient, _ now: Int64,
        _ leadership: Leadership, on connection: PostgresConnection
    ) throws {
        let states: [SubscriptionState]
        do throws(ServerAPIError) {
            let options = CallOptions(
                priority: .background, within: StatusPoll.callTime, cancellation: cancellation)
            states = try client.subscriptions(
                of: look.key.originalTransactionID, in: .only(place.environment), options
            ).answer
        } catch {
            return try failed(error, look, place, now, leadership, on: connection)
        }
        guard let state = states.first(where: { $0.originalTransactionID == look.key.originalTransactionID }) else {
            return try isUnknown(look, place, leadership, on: connection)
        }
        try keep(state, look, place, leadership, on: connection)
    }

    private mutating func keep(
        _ state: SubscriptionState, _ look: StatusPollTable, _ place: AppScope, _ leadership: Leadership,
        on connection: PostgresConnection
    ) throws {
        let entry = try AdmittedPayload.status(state).packed(in: place, by: dictionaries)
        var intake = intake
        do {
            try leadership.transaction(on: connection) { now in
                _ = try intake.insert([entry], on: connection)
                try look.move(to: StatusPollSchedule.next(after: look.end, now: now), on: connection)
            }
            self.intake = intake
        } catch {
            self.intake.forget()
            throw error
        }
        count(SubscriptionStatus.known.contains(state.status) ? state.status.word : "other", place)
    }

    // MARK: - No answer

    private func isUnknown(
        _ look: StatusPollTable, _ place: AppScope, _ leadership: Leadership, on connection: PostgresConnection
    ) throws {
        try leadership.transaction(on: connection) { now in
            try look.move(to: now + StatusPoll.strangerPause, on: connection)
        }
        count("unknown", place)
        logger.notice("purchase unknown to Apple", fields(look))
    }

    /// What is the purchase's own fault must not keep the others from being asked about.
    private mutating func failed(
        _ error: ServerAPIError, _ look: StatusPollTable, _ place: AppScope, _ now: Int64,
        _ leadership: Leadership, on connection: PostgresConnection
    ) throws {
        switch error {
        case .cancelled: return
        case .refused where error.code.map(StatusPoll.unknown.contains) ?? false:
            return try isUnknown(look, place, leadership, on: connection)
        case .untrusted, .malformed, .tooLarge, .invalid:
            try leadership.transaction(on: connection) { now in
                try look.move(to: StatusPollSchedule.next(after: look.end, now: now), on: connection)
            }
            logger.with(fields(look)).warning(
                "status answer rejected", ["error": .string("\(error)")])
        default:
            pauses[place] = now + (error.isRetryable ? StatusPoll.pause : StatusPoll.longPause)
            failures.warning(
                "status poll failed", error, count: 1,
                logger.with(fields(place)))
        }
        count("failed", place)
    }

    private static let unknown: Set<ServerAPIErrorCode> = [
        .accountNotFound, .originalTransactionIDNotFound, .transactionIDNotFound, .invalidTransactionID,
        .invalidOriginalTransactionID,
    ]

    // MARK: - Telling

    private func count(_ outcome: String, _ place: AppScope) {
        metrics.count(.statusAnswers, labels(place).merging(["outcome": outcome]) { $1 })
    }

    private func labels(_ place: AppScope) -> Metrics.Labels {
        ["app": place.app, "environment": place.environment.rawValue]
    }

    private func fields(_ place: AppScope) -> Logger.Fields {
        ["app": .string(place.app), "environment": .string(place.environment.rawValue)]
    }

    private func fields(_ look: StatusPollTable) -> Logger.Fields {
        [
            "app": .string(look.key.app), "environment": .string(look.key.environment.rawValue),
            "original_transaction_id": .string(look.key.originalTransactionID),
        ]
    }
}
