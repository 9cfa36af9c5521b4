import Base

/// The arguments of one command, read by its syntax.
struct CommandArguments {
    let command: String
    var operand: String?
    var wantsHelp = false
    var values: [String: [String]] = [:]

    init(command: String) {
        self.command = command
    }

    func isSet(_ option: String) -> Bool { values[option] != nil }

    func text(_ option: String) -> String? { values[option]?.last }

    func texts(_ option: String) -> [String] { values[option] ?? [] }

    func required(_ option: String) throws(UsageError) -> String {
        guard let value = text(option) else { throw UsageError("storesim \(command): \(option) is missing") }
        return value
    }

    func wrong(_ option: String, _ value: String, _ wanted: String) -> UsageError {
        UsageError("storesim \(command): \(option) \"\(value)\" is not \(wanted)")
    }

    /// The option read by `read`; `fallback` when it is not given.
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
}
