import AppStoreAPI
import Base
import Daemon

/// Asks Apple about rows on threads of its own, in the order of the rows, while others are brought in.
///
/// An error that concerns all rows stops the questions behind it until `resume`.
final class ImportInquiries: Sendable {
    private typealias Answer = Result<ImportLookup.Answer, ServerAPIError>

    private struct State {
        /// The questions that no thread has taken, by the number of their row; the next one is the last.
        var waiting: [(number: Int, question: ImportLookup.Question)] = []
        /// Those that a thread asks now.
        var asked: [Int: ImportLookup.Question] = [:]
        var answers: [Int: ImportLookup.Answer] = [:]
        var failures: [Int: (question: ImportLookup.Question, error: ServerAPIError)] = [:]
        var isOver = false

        /// A question may be taken: what holds for one that failed holds for those behind it.
        mutating func take() -> (number: Int, question: ImportLookup.Question)? {
            guard failures.isEmpty, let next = waiting.popLast() else { return nil }
            asked[next.number] = next.question
            return next
        }
    }

    private enum Next {
        case ask(Int, ImportLookup.Question)
        case end
    }

    private let state = Monitor(State())

    /// - Parameter ask: asks Apple; called on several threads.
    init(
        threads: Int,
        ask: @escaping @Sendable (ImportLookup.Question) throws(ServerAPIError) -> ImportLookup.Answer
    ) throws {
        let started = (1...threads).compactMap { [state] number in
            ServiceThread(orNil: "import-\(number)") { ImportInquiries.work(state, ask) }
        }
        guard !started.isEmpty else {
            throw ImportFile.Failure(
                description: "the system has no more threads, so Apple cannot be queried: raise the limit of threads")
        }
    }

    deinit {
        state.change { $0.isOver = true }
    }

    private static func work(
        _ state: Monitor<State>, _ ask: (ImportLookup.Question) throws(ServerAPIError) -> ImportLookup.Answer
    ) {
        while true {
            let next = state.wait { state -> Next? in
                if state.isOver { return .end }
                return state.take().map { .ask($0.number, $0.question) }
            }
            guard case .ask(let number, let question) = next else { return }
            let answer = Answer { () throws(ServerAPIError) in try ask(question) }
            state.change { state in
                state.asked[number] = nil
                switch answer {
                case .success(let answer): state.answers[number] = answer
                case .failure(let error): state.failures[number] = (question, error)
                }
            }
        }
    }

    /// Adds questions about rows, whose numbers grow.
    func add(_ questions: [(number: Int, question: ImportLookup.Question)]) {
        guard !questions.isEmpty else { return }
        state.change { $0.waiting.insert(contentsOf: questions.reversed(), at: 0) }
    }

    /// The answers that are there, and are given once.
    func answers() -> [Int: ImportLookup.Answer] {
        state.change { state in
            defer { state.answers = [:] }
            return state.answers
        }
    }

    /// Waits for the answer about a row.
    ///
    /// - Throws: why there is none; `resume` asks again.
    func wait(for number: Int) throws(ServerAPIError) {
        let result = state.wait { state -> Result<Void, ServerAPIError>? in
            if state.answers[number] != nil { return .success(()) }
            if let failure = state.failures[number] { return .failure(failure.error) }
            // Those before it are asked still, and it may be among those that a failure has stopped.
            guard !state.failures.isEmpty, state.asked.isEmpty else { return nil }
            return state.failures.min { $0.key < $1.key }.map { .failure($0.value.error) }
        }
        try result?.get()
    }

    /// Asks again what failed.
    func resume() {
        state.change { state in
            let failed = state.failures.sorted { $0.key > $1.key }.map { ($0.key, $0.value.question) }
            state.failures = [:]
            state.waiting += failed.map { (number: $0.0, question: $0.1) }
            state.waiting.sort { $0.number > $1.number }
        }
    }
}
