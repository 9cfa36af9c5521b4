import Base

/// How one kind of value is written in a configuration, and what it may be.
package struct ValueFormat<Value: Sendable>: Sendable {
    /// What is allowed, as a message says it.
    package let allowed: String
    /// The form in a file, as JSON Schema (2020-12).
    package let schema: JSON
    /// The text of an environment variable as the file would have it.
    package let fromText: @Sendable (String) -> JSON
    package let read: @Sendable (JSON, ConfigurationContext) -> ValueReading<Value>
    /// As the file would have it; for defaults.
    package let write: @Sendable (Value) -> JSON

    package init(
        allowed: String, schema: JSON, fromText: @escaping @Sendable (String) -> JSON = { .string($0) },
        write: @escaping @Sendable (Value) -> JSON,
        read: @escaping @Sendable (JSON, ConfigurationContext) -> ValueReading<Value>
    ) {
        self.allowed = allowed
        self.schema = schema
        self.fromText = fromText
        self.read = read
        self.write = write
    }

    /// A format whose values are one text each.
    package static func text(
        _ allowed: String, schema: JSON = .textSchema(), write: @escaping @Sendable (Value) -> String,
        read: @escaping @Sendable (String) -> Value?
    ) -> ValueFormat {
        ValueFormat(allowed: allowed, schema: schema, write: { .string(write($0)) }) { json, _ in
            guard let value = json.stringValue.flatMap(read) else { return .wrong(json, allowed) }
            return .value(value)
        }
    }
}

/// A value, or all that is wrong with it.
package enum ValueReading<Value: Sendable>: Sendable {
    case value(Value)
    case flawed([Flaw])

    /// One thing wrong in a value.
    package struct Flaw: Sendable {
        /// Where in the value: empty, or as in `[2]` or `.pro[0]`.
        package let place: String
        package let found: JSON
        /// Why it does not do, where the value alone does not show it.
        package var reason: String?
        package let allowed: String

        package init(place: String, found: JSON, reason: String? = nil, allowed: String) {
            self.place = place
            self.found = found
            self.reason = reason
            self.allowed = allowed
        }
    }

    package static func wrong(_ found: JSON, _ allowed: String, reason: String? = nil) -> ValueReading {
        .flawed([Flaw(place: "", found: found, reason: reason, allowed: allowed)])
    }
}

extension JSON {
    /// The JSON Schema of a text that is not empty and has this form.
    package static func textSchema(pattern: String? = nil) -> JSON {
        .object([
            "type": .string("string"), "minLength": pattern == nil ? .int(1) : nil,
            "pattern": pattern.map { .string($0) },
        ])
    }

    /// As a message shows what was found: short, and without control characters.
    package var shown: String {
        switch self {
        case .object: "an object"
        case .array(let values): values.isEmpty ? "an empty list" : "a list of \(values.count)"
        default: text.count > 80 ? "\(text.prefix(77))…" : text
        }
    }

    /// What kind of value it is; all that a message says of a secret.
    package var kind: String {
        switch self {
        case .null: "null"
        case .bool: "true or false"
        case .int, .double: "a number"
        case .string(let text): text.isEmpty ? "an empty text" : "a text that is not shown"
        case .array: "a list"
        case .object, .raw: "an object"
        }
    }
}
