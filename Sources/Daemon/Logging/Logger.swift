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

        private var rank: Int { Level.allCases.firstIndex(of: self) ?? 0 }

        package static func < (a: Level, b: Level) -> Bool { a.rank < b.rank }
    }

    package typealias Fields = KeyValuePairs<String, JSON?>

    private let minimum: Level
    private let context: [JSON.Member]
    private let sink: @Sendable ([UInt8]) -> Void

    /// Lines go to standard error unless a test takes them.
    package init(minimum: Level = .info, sink: @escaping @Sendable ([UInt8]) -> Void = Logger.standardError) {
        self.init(minimum: minimum, context: [], sink: sink)
    }

    private init(minimum: Level, context: [JSON.Member], sink: @escaping @Sendable ([UInt8]) -> Void) {
        self.minimum = minimum
        self.context = context
        self.sink = sink
    }

    /// A logger for tests that need none.
    package static let silent = Logger(minimum: .error) { _ in }

    /// The same logger with these fields in every line.
    package func with(_ fields: Fields) -> Logger {
        Logger(minimum: minimum, context: context + Logger.members(fields), sink: sink)
    }

    package func debug(_ event: StaticString, _ fields: Fields = [:]) { log(.debug, event, fields) }
    package func info(_ event: StaticString, _ fields: Fields = [:]) { log(.info, event, fields) }
    package func notice(_ event: StaticString, _ fields: Fields = [:]) { log(.notice, event, fields) }
    package func warning(_ event: StaticString, _ fields: Fields = [:]) { log(.warning, event, fields) }
    package func error(_ event: StaticString, _ fields: Fields = [:]) { log(.error, event, fields) }

    package func log(_ level: Level, _ event: StaticString, _ fields: Fields = [:]) {
        guard level >= minimum else { return }
        let head = [
            JSON.Member(name: "ts", value: .string(Timestamp.precise(SystemClock().now()))),
            JSON.Member(name: "level", value: .string(level.rawValue)),
            JSON.Member(name: "message", value: .string(event.description)),
        ]
        sink(JSON.object(head + context + Logger.members(fields)).bytes + [UInt8(ascii: "\n")])
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
