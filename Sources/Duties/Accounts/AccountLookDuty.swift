import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Ingest
import Postgres
import Subscriptions

/// Asks Apple for everything of accounts of which something was posted while Apple did not answer: what an app was not
/// answered then becomes right without another post.
package struct AccountLookDuty: Duty {
    package static let name = "account-looks"
    package static let failure: StaticString = "account query run failed"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(2)

    package let cancellation: Cancellation?
    private let lookups: [(place: AppScope, lookup: AccountLookup)]
    private let actions: CustomerActions
    private let clock: any WallClock
    private let sequence: SequenceGenerator
    private let rest: Duration
    private let logger: Logger
    private let metrics: Metrics
    private let failures = RepeatedFailure()
    private var courses: [AppScope: Course] = [:]

    /// How it goes with one app and environment. What one of them waits for holds up no other.
    private struct Course {
        let pace: LookPace
        /// Until when nothing is asked, while Apple is unwell; in ms.
        var pausedUntil = Int64.min
        /// Whether Apple did not answer the last time, or was not asked yet.
        var isProbing = true
        /// When some answer could be used last, in ms: then one that cannot be used is its account's own matter.
        var answered: Int64?
    }

    private static let countLimit = 1000
    /// How long nothing is asked while Apple is unwell, in ms: what is due is right within a minute after Apple is well.
    private static let pause: Int64 = 5_000
    /// Of one account that Apple may answer about a little later: the first delay, and the longest one, in ms.
    private static let delays: ClosedRange<Int64> = 5_000...30_000
    /// Of one account whose answer cannot be used, while those of others can.
    private static let longDelays: ClosedRange<Int64> = 60_000...3_600_000
    /// So long ago others were answered, in ms.
    private static let lately: Int64 = 600_000
    /// What Apple does not know is asked about so often: a purchase may be known a little later.
    private static let mostUnknown = 5

    /// - Parameters:
    ///   - lookups: where Apple can be asked.
    ///   - cancellation: ends what waits for Apple; cancelled when this drains.
    ///   - rest: between two runs.
    package init(
        lookups: [(place: AppScope, lookup: AccountLookup)], foldSettings: FoldSettings,
        clock: any WallClock = SystemClock(), cancellation: Cancellation, rest: Duration = .seconds(2), logger: Logger,
        metrics: Metrics
    ) {
        self.lookups = lookups
        actions = CustomerActions(origin: .worker, foldSettings: foldSettings)
        self.clock = clock
        sequence = SequenceGenerator(clock: clock, node: .random(in: 0...UInt16.max))
        self.cancellation = cancellation
        self.rest = rest
        self.logger = logger
        self.metrics = metrics
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        var lines: [LookRound.Line] = []
        for (place, lookup) in lookups where !run.isDraining() {
            let course = courses[place] ?? Course(pace: LookPace(place.environment))
            courses[place] = course
            let line = try run.session.withConnection { try begin(place, lookup, course, run.leadership, on: $0) }
            if let line { lines.append(line) }
        }
        guard !lines.isEmpty else { return .after(rest) }
        let round = LookRound(lines, cancellation ?? Cancellation())
        var answered = Dictionary(uniqueKeysWithValues: lines.map { ($0.place, courses[$0.place]?.answered) })
        try round.run { one in
            if run.isDraining() { return round.stop() }
            let line = round.lines[one.line]
            let now = line.now + (ContinuousClock.now - round.began).milliseconds
            let isOwn = answered[line.place].flatMap { $0 }.map { now - $0 < AccountLookDuty.lately } ?? false
            if one.answer.isUsable { answered[line.place] = now }
            try run.session.withConnection { try settle(one.due, one.answer, isOwn: isOwn, now, on: $0) }
        }
        var hasMore = false
        for (number, line) in lines.enumerated() {
            let outcome = round.outcome(number)
            let now = line.now + (ContinuousClock.now - round.began).milliseconds
            courses[line.place]?.answered = answered[line.place] ?? nil
            courses[line.place]?.isProbing = outcome.isFailing || outcome.isUnwell
            if outcome.isUnwell { courses[line.place]?.pausedUntil = now + AccountLookDuty.pause }
            let isFull = line.due.count == AccountLookDuty.limit(line.pace)
            hasMore =
                hasMore || !outcome.isFailing && !outcome.isUnwell && (isFull || outcome.left > 0 || outcome.hasParts)
        }
        return hasMore ? .again : .after(rest)
    }

    /// As many as can be asked about until those that were begun in time have ended.
    private static func limit(_ pace: LookPace) -> Int { Int(pace.rate * 12) + 8 }

    private func begin(
        _ place: AppScope, _ lookup: AccountLookup, _ course: Course, _ leadership: Leadership,
        on connection: PostgresConnection
    ) throws -> LookRound.Line? {
        let count = try AccountLookTable.countDue(at: place, atMost: AccountLookDuty.countLimit, on: connection)
        metrics.gauge(.accountLooksDue, Double(count), labels(place))
        let (now, isLeader) = try leadership.check(on: connection)
        guard isLeader, count > 0, now >= course.pausedUntil else { return nil }
        let limit = AccountLookDuty.limit(course.pace)
        var due: [AccountLookTable.Turn: [AccountLookTable.Due]] = [:]
        for turn in AccountLookTable.Turn.allCases {
            due[turn] = try AccountLookTable.due(at: place, turn, now: now, atMost: limit, on: connection)
        }
        let order = LookOrder.mixed(due, atMost: limit)
        guard !order.isEmpty else { return nil }
        return LookRound.Line(
            place: place, lookup: lookup, pace: course.pace, due: order, now: now, isProbing: course.isProbing)
    }

    // MARK: - Keeping

    /// Whatever keeps one account from being written puts that one off, and no other.
    ///
    /// - Parameter isOwn: whether others could be answered about lately.
    private func settle(
        _ due: AccountLookTable.Due, _ answer: AccountLookup.Answer, isOwn: Bool, _ now: Int64,
        on connection: PostgresConnection
    ) throws {
        do {
            try keep(answer, due, isOwn: isOwn, now, on: connection)
        } catch let error as PostgresError where error.isConnectionLost {
            throw error
        } catch {
            failures.warning("account query failed", error, count: 1, logger.with(fields(due.subject.key)))
            try delay(due, AccountLookDuty.delays, now, on: connection)
        }
    }

    private func keep(
        _ answer: AccountLookup.Answer, _ due: AccountLookTable.Due, isOwn: Bool, _ now: Int64,
        on connection: PostgresConnection
    ) throws {
        let key = due.subject.key
        switch answer {
        case .found(let found):
            try keep(found, due, on: connection)
            count("found", key)
        case .unknown:
            count("unknown", key)
            guard due.attempts + 1 >= AccountLookDuty.mostUnknown else {
                return try delay(due, AccountLookDuty.delays, now, on: connection)
            }
            logger.notice("account unknown to Apple", fields(key))
            try keep(AccountLookup.Found(environment: key.environment), due, on: connection)
        case .failed(.cancelled, _): return
        case .failed(let error, let found):
            // So that a long history ends at some time.
            if let found { try keep(found, due, on: connection) }
            count("failed", key)
            if error.isGeneral || error.isRetryable {
                guard !due.isAhead(found) else { return }
                failures.warning("account query failed", error, count: 1, logger.with(fields(key)))
                try delay(due, AccountLookDuty.delays, now, on: connection)
            } else {
                logger.with(fields(key)).warning("account answer rejected", ["error": .string("\(error)")])
                try delay(due, isOwn ? AccountLookDuty.longDelays : AccountLookDuty.delays, now, on: connection)
            }
        }
    }

    private func keep(
        _ found: AccountLookup.Found, _ due: AccountLookTable.Due, on connection: PostgresConnection
    ) throws {
        let news = try found.news(on: connection)
        let posted = news.transactions.compactMap { item in
            item.fact.map { CustomerActions.Posted(key: item.key, transaction: $0, entry: item.entry) }
        }
        var subject = due.subject
        if let rest = found.rest {
            subject = AccountLookTable.Subject(
                key: subject.key, transactionID: rest.id, account: subject.account)
        }
        try actions.bringIn(
            posted, and: news.states.map(\.entry), waitingAt: subject, from: due.progress,
            rest: found.rest?.progress, sequence: sequence, clock: clock, on: connection)
    }

    private func delay(
        _ due: AccountLookTable.Due, _ delays: ClosedRange<Int64>, _ now: Int64, on connection: PostgresConnection
    ) throws {
        let delay = min(delays.upperBound, delays.lowerBound << Int64(min(due.attempts, 10)))
        try AccountLookTable.delay(due.subject.key, to: now + delay, on: connection)
    }

    // MARK: - Telling

    private func count(_ outcome: String, _ key: PurchaseKey) {
        let place = AppScope(app: key.app, environment: key.environment)
        metrics.count(.accountLooks, labels(place).merging(["outcome": outcome]) { $1 })
    }

    private func labels(_ place: AppScope) -> Metrics.Labels {
        ["app": place.app, "environment": place.environment.rawValue]
    }

    private func fields(_ key: PurchaseKey) -> Logger.Fields {
        [
            "app": .string(key.app), "environment": .string(key.environment.rawValue),
            "original_transaction_id": .string(key.originalTransactionID),
        ]
    }
}

extension AccountLookup.Answer {
    fileprivate var isUsable: Bool {
        switch self {
        case .found, .unknown: true
        case .failed: false
        }
    }
}
