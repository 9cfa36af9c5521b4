import Base

/// The arguments and options of one command, each already what its declaration allows.
package struct ParsedArguments: Sendable, Equatable {
    /// By name, in the order given: `--root`, `FILE`. A switch has an empty text.
    private(set) var values: [String: [String]] = [:]

    package init() {}

    package mutating func add(_ text: String, for name: String) {
        values[name, default: []].append(text)
    }

    package func has(_ name: String) -> Bool { values[name] != nil }

    /// The value of an argument or option; nil where it was not given.
    package func text(_ name: String) -> String? { values[name]?.last }

    /// All values of an option that may be given repeatedly.
    package func texts(_ name: String) -> [String] { values[name] ?? [] }

    package func integer(_ name: String) -> Int64? { text(name).flatMap { Int64($0) } }

    package func duration(_ name: String) -> Duration? { text(name).flatMap(Duration.init(text:)) }

    /// Milliseconds since 1970.
    package func time(_ name: String) -> Int64? { text(name).flatMap(Timestamp.parse) }

    /// A moment, nil where it was not given.
    package func moment(_ name: String) -> TimeArgument? { text(name).flatMap(TimeArgument.init(text:)) }
}

/// Wrong use of the command line: one line for the person, exit status 2.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
