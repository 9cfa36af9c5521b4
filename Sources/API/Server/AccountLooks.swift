import AppStoreAPI
import Base
import Daemon
import Database
import Ingest

/// Asks Apple for everything of Apple accounts while apps wait. Each account is asked about once at a time, however many
/// requests wait for it, and none waits longer than it may. Requests that come while an answer is being written get the
/// same one; those that come after that find in the database when Apple was asked last.
///
/// While Apple does not answer, requests wait for it now and then only: what is missing is fetched later.
package final class AccountLooks: Sendable {
    /// What a request needs to know of an account.
    package struct Request: Sendable {
        let account: AccountKey
        let question: AccountLookup.Question
        let lookup: AccountLookup
        /// Restores go before all others.
        let isRestore: Bool
        let cancellation: Cancellation
    }

    /// What came of it.
    package enum Outcome: Sendable {
        case whole(AccountLookup.Found)
        /// Apple does not know the transaction.
        case unknown
        /// Apple did not answer in time; what it said until then.
        case late(AccountLookup.Found?)
    }

    /// What requests have in common that wait for one answer: any transaction of an account brings the same.
    private struct Flight: Hashable {
        let account: AccountKey
        let environment: EnvironmentChoice
        let others: Set<String>
        let isRestore: Bool

        init(_ request: Request) {
            (account, isRestore) = (request.account, request.isRestore)
            (environment, others) = (request.question.environment, request.question.others)
        }
    }

    /// An answer. Whatever goes on with it keeps it, and it is given to further requests as long as something does.
    package final class Landing: Sendable {
        package let outcome: Outcome
        fileprivate let at = ContinuousClock.now

        fileprivate init(_ outcome: Outcome) {
            self.outcome = outcome
        }
    }

    private struct WeakLanding: Sendable {
        weak let landing: Landing?
    }

    private struct Waiter: Sendable {
        /// The transaction by which it would have asked.
        let id: String
        let deadline: ContinuousClock.Instant
        let done: @Sendable (Landing) -> Void
    }

    /// How Apple answers lately, for an app or about one account.
    private struct Trouble {
        private var failures = 0
        private(set) var until = ContinuousClock.now
        /// About which it failed since the last answer, as far as they count.
        private var accounts: Set<AccountKey> = []

        /// - Parameter limit: so many accounts make a trouble.
        mutating func fail(_ account: AccountKey, limit: Int) {
            if accounts.count < limit { accounts.insert(account) }
            guard accounts.count >= limit else { return }
            until = .now + min(AccountLooks.pauses.upperBound, AccountLooks.pauses.lowerBound * (1 << min(failures, 6)))
            failures += 1
        }
    }

    private struct State {
        var flights: [Flight: [Waiter]] = [:]
        /// Whole answers that are being written.
        var landings: [Flight: WeakLanding] = [:]
        var troubles: [String: Trouble] = [:]
        /// Of accounts about which Apple does not answer, or not so that it can be used.
        var refusals: [AccountKey: Trouble] = [:]
        var isStopping = false

        /// An answer of just now, which says as much as another one would.
        func landing(_ flight: Flight) -> Landing? {
            landings[flight]?.landing.flatMap { $0.at > .now - AccountLooks.landingTime ? $0 : nil }
        }

        mutating func note(_ landing: Landing, _ flight: Flight) {
            landings = landings.filter { $0.value.landing != nil }
            landings[flight] = WeakLanding(landing: landing)
        }

        func isInTrouble(_ account: AccountKey) -> Bool {
            let now = ContinuousClock.now
            return [troubles[account.app], refusals[account]].contains { $0.map { $0.until > now } ?? false }
        }
    }

    /// Failures about so many accounts, without an answer between them, say that Apple is unwell.
    private static let mostFailures = 3
    /// After these, or after one about the account itself, no request waits for so long; twice as long after each further one.
    private static let pauses = Duration.seconds(1)...Duration.seconds(15)
    /// So long an answer is given to further requests at most, while it is being written.
    private static let landingTime = Duration.seconds(5)
    /// Accounts that are remembered for their own failures.
    private static let mostRefusals = 1024

    private let state = Monitor(State())
    private let finished = Monitor(false)
    private let lines: AppleCallLines

    init(_ lines: AppleCallLines) {
        self.lines = lines
    }

    func start() {
        _ = ServiceThread("account-looks") { [self] in
            while let late = nextLate() { for waiter in late { waiter.done(Landing(.late(nil))) } }
            finished.change { $0 = true }
        }
    }

    /// Ends whatever waits; what it was about is fetched later.
    func stop(until deadline: ContinuousClock.Instant) {
        state.change { $0.isStopping = true }
        _ = finished.wait(timeout: max(.zero, deadline - .now)) { $0 ? true : nil }
    }

    /// Calls `done` once, with what Apple says or at the deadline.
    ///
    /// - Parameters:
    ///   - caller: the request that waits.
    ///   - done: to keep what it is given until the answer is written.
    func look(
        _ request: Request, for caller: APIRequest, until deadline: ContinuousClock.Instant,
        _ done: @escaping @Sendable (Landing) -> Void
    ) {
        enum Part { case first, another, none, landed(Landing) }
        let flight = Flight(request)
        let part = state.change { state -> Part in
            if let landing = state.landing(flight) { return .landed(landing) }
            if state.isStopping || state.isInTrouble(request.account) { return .none }
            let isFirst = state.flights[flight] == nil
            state.flights[flight, default: []].append(
                Waiter(id: request.question.id, deadline: deadline, done: done))
            return isFirst ? .first : .another
        }
        switch part {
        case .landed(let landing): done(landing)
        case .none: done(Landing(.late(nil)))
        case .another: return
        case .first:
            let call = AppleCallLines.AppleCall(
                share: caller.share, isBackend: caller.key?.kind == .secret,
                kind: request.isRestore || !request.question.others.isEmpty ? .receipt : .account
            ) { [self] in ask(request, until: deadline) }
            if !lines.add(call) { end(request, .late(nil)) }
        }
    }

    private func ask(_ request: Request, until deadline: ContinuousClock.Instant) {
        // A little before the deadline, so that those who wait get what was found until then.
        let left = (deadline - .now) * 0.95
        guard left > .zero else { return end(request, .late(nil)) }
        let options = CallOptions(within: left, cancellation: request.cancellation)
        switch request.lookup.look(request.question, options) {
        case .found(let found):
            note(nil, request.account)
            end(request, found.rest == nil ? .whole(found) : .late(found))
        case .unknown:
            note(nil, request.account)
            end(request, .unknown)
        case .failed(let error, let found):
            // A history that is too long for the time says nothing of other accounts.
            if found == nil { note(error, request.account) }
            end(request, .late(found))
        }
    }

    private func end(_ request: Request, _ outcome: Outcome) {
        let landing = Landing(outcome)
        let waiters = state.change { state in
            let flight = Flight(request)
            if case .whole = outcome { state.note(landing, flight) }
            return state.flights.removeValue(forKey: flight) ?? []
        }
        for waiter in waiters {
            // What Apple does not know says nothing of others of the same account.
            if case .unknown = outcome, waiter.id != request.question.id {
                waiter.done(Landing(.late(nil)))
            } else {
                waiter.done(landing)
            }
        }
    }

    /// - Parameter error: nil: Apple answered.
    private func note(_ error: ServerAPIError?, _ account: AccountKey) {
        if error == .cancelled { return }
        state.change { state in
            guard let error else {
                (state.troubles[account.app], state.refusals[account]) = (nil, nil)
                return
            }
            if error.isGeneral {
                state.troubles[account.app, default: Trouble()].fail(account, limit: AccountLooks.mostFailures)
            } else {
                // Apple answered, though not so that it can be used.
                state.troubles[account.app] = nil
            }
            if state.refusals.count >= AccountLooks.mostRefusals {
                let now = ContinuousClock.now
                state.refusals = state.refusals.filter { $0.value.until > now }
            }
            guard state.refusals[account] != nil || state.refusals.count < AccountLooks.mostRefusals else { return }
            state.refusals[account, default: Trouble()].fail(account, limit: 1)
        }
    }

    /// Those whose time is over; nil at the end.
    private func nextLate() -> [Waiter]? {
        while true {
            let (late, next, isStopping) = state.change { state in
                let (now, isStopping) = (ContinuousClock.now, state.isStopping)
                var late: [Waiter] = []
                var next: ContinuousClock.Instant?
                for (account, waiters) in state.flights {
                    let isOver = { (waiter: Waiter) in isStopping || waiter.deadline <= now }
                    late += waiters.filter(isOver)
                    // An empty one is still asked about.
                    state.flights[account] = waiters.filter { !isOver($0) }
                    for waiter in waiters where !isOver(waiter) { next = min(next ?? waiter.deadline, waiter.deadline) }
                }
                return (late, next, isStopping)
            }
            if !late.isEmpty { return late }
            if isStopping { return nil }
            let known = next
            _ = state.wait(timeout: next.map { max(.zero, $0 - .now) }) { state -> Bool? in
                let soonest = state.flights.values.joined().map(\.deadline).min()
                return state.isStopping || soonest != known ? true : nil
            }
        }
    }
}
