import Base
import CLI

/// The values of one command line of storesim, each read into its type or refused with the values that are allowed.
struct CommandArguments {
    private let parsed: ParsedArguments
    private let command: String

    /// - Parameter command: its name, for the text of errors.
    init(_ parsed: ParsedArguments, of command: String) {
        self.parsed = parsed
        self.command = command
    }

    func isSet(_ option: String) -> Bool { parsed.has(option) }

    func text(_ name: String) -> String? { parsed.text(name) }

    func texts(_ option: String) -> [String] { parsed.texts(option) }

    func required(_ option: String) throws(UsageError) -> String {
        guard let value = text(option) else { throw UsageError("storesim \(command) needs \(option)") }
        return value
    }

    func wrong(_ option: String, _ value: String, _ wanted: String) -> UsageError {
        UsageError(
            "\(option) of storesim \(command) cannot be '\(Terminal.harmless(value))'; allowed: \(wanted)")
    }

    /// The option read by `read`; `fallback` where it was not given.
    func value<Value>(
        _ option: String, _ wanted: String, default fallback: Value, _ read: (String) -> Value?
    ) throws(UsageError) -> Value {
        guard let text = text(option) else { return fallback }
        guard let value = read(text) else { throw wrong(option, text, wanted) }
        return value
    }

    func integer<Number: FixedWidthInteger>(
        _ option: String, in range: ClosedRange<Number>, default fallback: Number
    ) throws(UsageError) -> Number {
        try value(option, "a whole number from \(range.lowerBound) to \(range.upperBound)", default: fallback) {
            Number($0).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    func choice<Value: RawRepresentable & CaseIterable>(
        _ option: String, default fallback: Value
    ) throws(UsageError) -> Value where Value.RawValue == String {
        let allowed = Value.allCases.map(\.rawValue).joined(separator: ", ")
        return try value(option, "one of \(allowed)", default: fallback) { Value(rawValue: $0) }
    }

    /// Waits, separated by commas: `1s,2s`.
    func waits(_ option: String, such example: String, default fallback: [Duration]?) throws(UsageError) -> [Duration]?
    {
        try value(option, "a list of durations such as \(example)", default: fallback) {
            let waits = $0.split(separator: ",", omittingEmptySubsequences: false).map { Duration(text: String($0)) }
            return waits.contains(nil) ? nil : .some(waits.compactMap(\.self))
        }
    }

    func environment() throws(UsageError) -> String {
        try value("--environment", "Sandbox or Production", default: "Sandbox") {
            ["Sandbox", "Production"].contains($0) ? $0 : nil
        }
    }
}
