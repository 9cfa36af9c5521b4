import Base
import FoundationEssentials
import Glibc
import Synchronization

/// Writes one JSON object a line: `ts`, `level`, `message`, then dotted keys. Never payloads or secrets.
///
/// `message` is the name of an event: at most six words that never change, so that a search finds each of its lines. What
/// differs from line to line stands in the fields. Messages.md lists all events.
///
/// Levels: `error` needs a person, `warning` is degraded or retrying, `notice` is a change of a process's life,
/// `info` a business fact of low volume, `debug` everything else.
package struct Logger: Sendable {
    package enum Level: String, Sendable, CaseIterable, Comparable {
        case debug, info, notice, warning, error

        fileprivate var rank: Int { Level.allCases.firstIndex(of: self) ?? 0 }

        package static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }
    }

    package typealias Fields = KeyValuePairs<String, JSON?>

    /// Shared by all loggers that were made of one.
    private let threshold: Threshold
    private let context: [JSON.Member]
    private let journal: Journal?
    private let sink: @Sendable ([UInt8]) -> Void

    private final class Threshold: Sendable {
        private let rank: Atomic<Int>

        init(_ level: Level) {
            rank = Atomic(level.rank)
        }

        func set(_ level: Level) { rank.store(level.rank, ordering: .relaxed) }
        func admits(_ level: Level) -> Bool { level.rank >= rank.load(ordering: .relaxed) }
    }

    /// Lines go to standard error, with their priorities where that is systemd's journal.
    package init(minimum: Level = .info) {
        self.init(Threshold(minimum), context: [], journal: Journal.behind(2), sink: Logger.standardError)
    }

    package init(minimum: Level = .info, sink: @escaping @Sendable ([UInt8]) -> Void) {
        self.init(Threshold(minimum), context: [], journal: nil, sink: sink)
    }

    private init(
        _ threshold: Threshold, context: [JSON.Member], journal: Journal?, sink: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.threshold = threshold
        self.context = context
        self.journal = journal
        self.sink = sink
    }

    /// A logger for tests that need none.
    package static let silent = Logger(minimum: .error) { _ in }

    /// The same logger with these fields in every line.
    package func with(_ fields: Fields) -> Logger {
        Logger(threshold, context: context + Logger.members(fields), journal: journal, sink: sink)
    }

    /// Lines below this level are not written from now on, by this logger and all that share its origin.
    package func setMinimum(_ level: Level) { threshold.set(level) }

    package func debug(_ event: StaticString, _ fields: Fields = [:]) { log(.debug, event, fields) }
    package func info(_ event: StaticString, _ fields: Fields = [:]) { log(.info, event, fields) }
    package func notice(_ event: StaticString, _ fields: Fields = [:]) { log(.notice, event, fields) }
    package func warning(_ event: StaticString, _ fields: Fields = [:]) { log(.warning, event, fields) }
    package func error(_ event: StaticString, _ fields: Fields = [:]) { log(.error, event, fields) }

    package func log(_ level: Level, _ event: StaticString, _ fields: Fields = [:]) {
        guard threshold.admits(level) else { return }
        let head = [
            JSON.Member(name: "ts", value: .string(Timestamp.precise(SystemClock().now()))),
            JSON.Member(name: "level", value: .string(level.rawValue)),
            JSON.Member(name: "message", value: .string(event.description)),
        ]
        let line = JSON.object(head + context + Logger.members(fields)).bytes + [UInt8(ascii: "\n")]
        sink((journal?.prefix(level) ?? []) + line)
    }

    private static func members(_ fields: Fields) -> [JSON.Member] {
        fields.compactMap { name, value in value.map { JSON.Member(name: name, value: $0) } }
    }

    /// One `write` a line, so that lines of several threads do not mix.
    package static func standardError(_ line: [UInt8]) {
        var rest = line[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { write(2, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, written))
        }
    }
}
