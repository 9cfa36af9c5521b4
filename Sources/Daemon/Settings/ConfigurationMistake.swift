import Base

/// One thing that is wrong in a configuration: where, what was found, what is allowed.
package struct ConfigurationMistake: Sendable, Equatable, CustomStringConvertible {
    /// Dotted, with indices: `apps[0].environments[1]`.
    package let key: String
    /// The environment variable that it came from, if it did.
    package let variable: String?
    /// Never shows a secret.
    package let found: String
    package let allowed: String
    /// A key that was probably meant.
    package let suggestion: String?

    package init(key: String, variable: String? = nil, found: String, allowed: String, suggestion: String? = nil) {
        self.key = key
        self.variable = variable
        self.found = found
        self.allowed = allowed
        self.suggestion = suggestion
    }

    package var description: String {
        let place = variable.map { "\(key) (from \($0))" } ?? key
        let hint = suggestion.map { "; did you mean \($0)?" } ?? ""
        return "\(place): found \(found); allowed: \(allowed)\(hint)"
    }

    package var document: JSON {
        .object([
            "key": .string(key), "variable": variable.map { .string($0) }, "found": .string(found),
            "allowed": .string(allowed), "suggestion": suggestion.map { .string($0) },
        ])
    }
}

/// All that is wrong in a configuration, at least one.
package struct ConfigurationMistakes: Error, Sendable, CustomStringConvertible {
    package let all: [ConfigurationMistake]

    package init(all: [ConfigurationMistake]) {
        self.all = all
    }

    package var description: String {
        all.map(\.description).joined(separator: "\n")
    }
}
