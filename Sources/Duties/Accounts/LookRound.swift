import AppStoreAPI
import Base
import Daemon
import Database
import Ingest

/// One run of the duty: threads ask about accounts of all apps and environments, while the duty keeps what was answered.
final class LookRound: Sendable {
    /// What is due in one app and environment.
    struct Line: Sendable {
        let place: AppScope
        let lookup: AccountLookup
        let pace: LookPace
        let due: [AccountLookTable.Due]
        /// When the run began, in ms by the database's clock.
        let now: Int64
        /// Whether Apple did not answer the last time.
        let isProbing: Bool
    }

    struct Answered: Sendable {
        let line: Int
        let due: AccountLookTable.Due
        let answer: AccountLookup.Answer
    }

    /// What came of a line.
    struct Outcome: Sendable {
        var hasAnswer = false
        /// Some history goes on.
        var hasParts = false
        /// Failures since the last answer.
        var failures = 0
        /// Accounts that were not asked about.
        var left = 0

        /// Whether Apple does not answer, whatever it is asked about.
        var isUnwell: Bool { !hasAnswer && failures > 0 }
        var isFailing: Bool { failures >= LookRound.mostFailures }
    }

    private struct Course {
        var outcome = Outcome()
        /// Whether as many may be asked about at once as there are threads.
        var isOpen: Bool
        var next = 0
        var busy = 0
        /// Asked about since before the run's time was over.
        var early: Set<Int> = []

        mutating func end(_ place: Int, _ due: AccountLookTable.Due, _ answer: AccountLookup.Answer) {
            busy -= 1
            early.remove(place)
            switch answer {
            case .failed(.cancelled, _): return
            case .failed(let error, let found) where error.isGeneral && !due.isAhead(found):
                outcome.failures += 1
            case .found(let found):
                outcome.hasParts = outcome.hasParts || found.rest != nil
                fallthrough
            default:
                (outcome.failures, outcome.hasAnswer, isOpen) = (0, true, true)
            }
        }
    }

    private struct State {
        var courses: [Course]
        var answered: [Answered] = []
        var threads = 0
        var isStopped = false
    }

    let lines: [Line]
    let began = ContinuousClock.now
    private let state: Monitor<State>
    private let cancellation: Cancellation

    /// So many failures behind each other, without an answer between them, say that Apple is unwell. While that is probed, no more
    /// are tried before the first answer.
    private static let mostFailures = 3
    /// So long accounts are begun; after that, only beside those that are still asked about.
    static let time = Duration.seconds(2)
    /// For all requests about one account in one turn; a longer history goes on with the next.
    private static let callTime = Duration.seconds(10)
    /// Answers that wait to be kept.
    private static let mostAnswered = 32

    init(_ lines: [Line], _ cancellation: Cancellation) {
        self.lines = lines
        self.cancellation = cancellation
        state = Monitor(State(courses: lines.map { Course(isOpen: !$0.isProbing) }))
    }

    /// Of each line. Together they ask about as many accounts as the pace lets them, with answers of Apple's that take
    /// 0.4 s.
    private static func threads(_ line: Line) -> Int { min(line.due.count, max(4, Int(line.pace.rate * 0.4))) }

    /// Calls `keep` with each answer, on this thread, until everything that is begun has ended.
    ///
    /// - Throws: what `keep` throws, when all threads have ended.
    func run(_ keep: (Answered) throws -> Void) rethrows {
        var threads: [ServiceThread] = []
        var alone: [Int] = []
        for (number, line) in lines.enumerated() {
            let mine = (0..<LookRound.threads(line)).compactMap { name -> ServiceThread? in
                state.change { $0.threads += 1 }
                let thread = ServiceThread(orNil: "account-\(name)") { [self] in
                    while let place = next(number) { ask(number, place) }
                    state.change { $0.threads -= 1 }
                }
                if thread == nil { state.change { $0.threads -= 1 } }
                return thread
            }
            threads += mine
            if mine.isEmpty, !line.due.isEmpty { alone.append(number) }
        }
        defer {
            state.change { $0.isStopped = true }
            for thread in threads { thread.join() }
        }
        // Where the system gave no threads.
        for number in alone {
            while let place = next(number, waits: false) {
                ask(number, place)
                for answered in take() { try keep(answered) }
            }
        }
        while true {
            let answered = state.wait { state -> [Answered]? in
                state.answered.isEmpty && state.threads > 0 ? nil : state.answered
            }
            guard let answered, !answered.isEmpty else { return }
            for one in take() { try keep(one) }
        }
    }

    /// Begins no further account.
    func stop() { state.change { $0.isStopped = true } }

    func outcome(_ line: Int) -> Outcome {
        state.read { state in
            var outcome = state.courses[line].outcome
            outcome.left = lines[line].due.count - state.courses[line].next
            return outcome
        }
    }

    private func take() -> [Answered] {
        state.change { state in
            defer { state.answered = [] }
            return state.answered
        }
    }

    /// The next account of a line; nil: there is none for this run.
    private func next(_ line: Int, waits: Bool = true) -> Int? {
        state.wait { state -> Int?? in
            let course = state.courses[line]
            let isEarly = ContinuousClock.now - began < LookRound.time
            guard !state.isStopped, !course.outcome.isFailing, lines[line].due.indices.contains(course.next),
                // As long as the round lasts in any case: one that Apple is slow to answer holds up no other app.
                isEarly || state.courses.contains(where: { !$0.early.isEmpty })
            else { return .some(nil) }
            if waits {
                if state.answered.count >= LookRound.mostAnswered { return nil }
                if !course.isOpen, course.busy + course.outcome.failures >= LookRound.mostFailures { return nil }
            }
            if isEarly { state.courses[line].early.insert(course.next) }
            state.courses[line].next += 1
            state.courses[line].busy += 1
            return .some(course.next)
        } ?? nil
    }

    private func ask(_ number: Int, _ place: Int) {
        let line = lines[number]
        let due = line.due[place]
        line.pace.wait(cancellation)
        var requests = 0
        let answer = line.lookup.look(
            AccountLookup.Question(
                id: due.subject.transactionID, in: .only(line.place.environment), others: due.progress.others,
                after: due.progress.revision),
            CallOptions(priority: .prompt, within: LookRound.callTime, cancellation: cancellation)
        ) {
            requests += 1
            if requests > 2 { line.pace.wait(cancellation) }
        }
        state.change { state in
            state.courses[number].end(place, due, answer)
            if case .failed(.cancelled, _) = answer { state.isStopped = true }
            state.answered.append(Answered(line: number, due: due, answer: answer))
        }
    }
}

extension AccountLookTable.Due {
    /// Whether a part of an answer leaves less to ask than there was.
    func isAhead(_ found: AccountLookup.Found?) -> Bool {
        found.map { $0.rest?.progress != progress } ?? false
    }
}

extension AccountLookup.Rest {
    var progress: AccountLookTable.Progress {
        AccountLookTable.Progress(revision: revision, others: others)
    }
}
