import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Ingest
import Postgres
import Subscriptions
import Synchronization

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
    /// Until when nothing is asked, while Apple is unwell; in ms.
    private var pauses: [AppScope: Int64] = [:]
    /// When some answer could be used last, in ms: then one that cannot be used is its account's own matter.
    private var answered: [AppScope: Int64] = [:]

    /// How many accounts of each line are asked about in one run. So many first looks at most in each rest: after an upgrade
    /// every account has one to come, and replays and polls of statuses need Apple's limits too.
    private static let batches: [AccountLookTable.Turn: Int] = [.restore: 32, .again: 8, .first: 8]
    /// Of each app and environment: what one of them waits for holds up no other.
    private static let threads = 4
    private static let countLimit = 1000
    /// For all requests about one account in one turn; a longer history goes on with the next.
    private static let callTime = Duration.seconds(10)
    /// So many failures behind each other, without an answer between them, say that Apple is unwell.
    private static let mostFailures = 3
    /// How long nothing is asked then, in ms: what is due is right within a minute after Apple is well.
    private static let pause: Int64 = 10_000
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
        var works: [Work] = []
        for (place, lookup) in lookups where !run.isDraining() {
            let work = try run.session.withConnection { try begin(place, lookup, run.leadership, on: $0) }
            if let work { works.append(work) }
        }
        ask(works)
        var hasMore = false
        for work in works {
            if work.isUsable { answered[work.place] = work.now }
            for (due, answer) in zip(work.due, work.answers) where !run.isDraining() {
                guard let answer else { continue }
                try run.session.withConnection { try settle(due, answer, work.now, on: $0) }
            }
            if work.isUnwell { pauses[work.place] = work.now + AccountLookDuty.pause }
            let isFull = work.due.count { $0.turn == .restore } == AccountLookDuty.batches[.restore]
            hasMore = hasMore || (isFull || work.hasParts) && !work.isUnwell
        }
        return hasMore ? .again : .after(rest)
    }

    // MARK: - What is due

    /// What one run asks about in one app and environment.
    private final class Work: Sendable {
        struct State {
            var answers: [AccountLookup.Answer?]
            var next = 0
            /// Failures since the last answer.
            var failures = 0
            var hasAnswer = false
        }

        let place: AppScope
        let lookup: AccountLookup
        let due: [AccountLookTable.Due]
        let now: Int64
        private let state: Mutex<State>

        init(_ place: AppScope, _ lookup: AccountLookup, _ due: [AccountLookTable.Due], now: Int64) {
            (self.place, self.lookup, self.due, self.now) = (place, lookup, due, now)
            state = Mutex(State(answers: Array(repeating: nil, count: due.count)))
        }

        /// In their order; nil for those that were left for later.
        var answers: [AccountLookup.Answer?] { state.withLock { $0.answers } }

        /// Whether Apple does not answer, whatever it is asked about.
        var isUnwell: Bool { state.withLock { !$0.hasAnswer && $0.failures > 0 } }

        var isUsable: Bool {
            answers.contains { if case .found = $0 { true } else if case .unknown = $0 { true } else { false } }
        }

        /// Whether some history goes on.
        var hasParts: Bool {
            answers.contains { if case .found(let found) = $0 { found.rest != nil } else { false } }
        }

        func next() -> Int? {
            state.withLock { state in
                guard due.indices.contains(state.next), state.failures < AccountLookDuty.mostFailures else {
                    return nil
                }
                defer { state.next += 1 }
                return state.next
            }
        }

        func end(_ number: Int, _ answer: AccountLookup.Answer) {
            state.withLock { state in
                state.answers[number] = answer
                if case .failed(let error, let found) = answer, error.isGeneral, !due[number].isAhead(found) {
                    state.failures += 1
                } else {
                    (state.failures, state.hasAnswer) = (0, true)
                }
            }
        }
    }

    private func begin(
        _ place: AppScope, _ lookup: AccountLookup, _ leadership: Leadership, on connection: PostgresConnection
    ) throws -> Work? {
        let count = try AccountLookTable.countDue(at: place, atMost: AccountLookDuty.countLimit, on: connection)
        metrics.gauge(.accountLooksDue, Double(count), labels(place))
        let (now, isLeader) = try leadership.check(on: connection)
        guard isLeader, count > 0, now >= pauses[place] ?? .min else { return nil }
        let due = try AccountLookTable.Turn.allCases.flatMap { turn in
            try AccountLookTable.due(
                at: place, turn, now: now, atMost: AccountLookDuty.batches[turn] ?? 1, on: connection)
        }
        return due.isEmpty ? nil : Work(place, lookup, due, now: now)
    }

    // MARK: - Asking

    private func ask(_ works: [Work]) {
        let cancellation = cancellation ?? Cancellation()
        @Sendable func work(_ work: Work) {
            while let number = work.next() {
                let due = work.due[number]
                let answer = work.lookup.look(
                    AccountLookup.Question(
                        id: due.subject.transactionID, in: .only(work.place.environment), others: due.progress.others,
                        after: due.progress.revision),
                    CallOptions(priority: .background, within: AccountLookDuty.callTime, cancellation: cancellation))
                work.end(number, answer)
            }
        }
        let threads = works.flatMap { one in
            (0..<min(AccountLookDuty.threads, one.due.count)).compactMap { number in
                ServiceThread(orNil: "account-\(number)") { work(one) }
            }
        }
        for thread in threads { thread.join() }
        // Where the system gave no threads.
        for one in works { work(one) }
    }

    // MARK: - Keeping

    /// Whatever keeps one account from being written puts that one off, and no other.
    private func settle(
        _ due: AccountLookTable.Due, _ answer: AccountLookup.Answer, _ now: Int64, on connection: PostgresConnection
    ) throws {
        do {
            try keep(answer, due, now, on: connection)
        } catch let error as PostgresError where error.isConnectionLost {
            throw error
        } catch {
            failures.warning("account query failed", error, count: 1, logger.with(fields(due.subject.key)))
            try delay(due, AccountLookDuty.delays, now, on: connection)
        }
    }

    private func keep(
        _ answer: AccountLookup.Answer, _ due: AccountLookTable.Due, _ now: Int64, on connection: PostgresConnection
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
                let isOwn = answered[AppScope(app: key.app, environment: key.environment)].map {
                    now - $0 < AccountLookDuty.lately
                }
                try delay(
                    due, isOwn ?? false ? AccountLookDuty.longDelays : AccountLookDuty.delays, now, on: connection)
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

extension AccountLookTable.Due {
    /// Whether a part of an answer leaves less to ask than there was.
    fileprivate func isAhead(_ found: AccountLookup.Found?) -> Bool {
        found.map { $0.rest?.progress != progress } ?? false
    }
}

extension AccountLookup.Rest {
    fileprivate var progress: AccountLookTable.Progress {
        AccountLookTable.Progress(revision: revision, others: others)
    }
}
