import Daemon
import Synchronization
import Testing

@Suite struct RepeatedFailureTests {
    private struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The lines of the logger, as they are written.
    private final class Lines: Sendable {
        private let lines = Mutex<[String]>([])
        var all: [String] { lines.withLock { $0 } }
        func add(_ line: String) { lines.withLock { $0.append(line) } }
    }

    private func logged(_ texts: [String]) -> [String] {
        let lines = Lines()
        let logger = Logger { lines.add(String(decoding: $0, as: UTF8.self)) }
        let failures = RepeatedFailure()
        for text in texts { failures.warning("notifications not stored", Failure(description: text), count: 3, logger) }
        return lines.all
    }

    @Test func `failures that take turns are logged once each, not at every turn`() {
        let lines = logged((0..<1000).map { $0 % 2 == 0 ? "connection refused" : "the database is away" })
        #expect(lines.count == 2)
        #expect(lines.first?.contains("connection refused") == true && lines.first?.contains("\"count\":3") == true)
    }

    @Test func `another failure is logged at once`() {
        #expect(logged(["a", "a", "b", "a"]).count == 2)
    }

    @Test func `many different texts are all logged, in bounded memory`() {
        #expect(logged((0..<100).map { "text \($0)" }).count == 100)
    }
}
