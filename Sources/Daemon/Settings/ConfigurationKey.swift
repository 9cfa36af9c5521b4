import Base

/// One key of the configuration, with the type of its value.
package struct ConfigurationKey<Value: Sendable>: Sendable {
    package let format: ValueFormat<Value>
    /// What it is without being set. Of a required key: a placeholder that is never shown.
    package let fallback: Value
    package let entry: ConfigurationEntry

    package init(
        _ path: String, _ format: ValueFormat<Value>, default fallback: Value, isRequired: Bool = false,
        isSecret: Bool = false, _ comment: String
    ) {
        self.format = format
        self.fallback = fallback
        entry = ConfigurationEntry(
            path: path, allowed: format.allowed, fallback: isRequired ? nil : format.write(fallback),
            isSecret: isSecret, comment: comment, schema: format.schema, fromText: format.fromText)
    }
}

/// One key of the configuration as documentation has it.
package struct ConfigurationEntry: Sendable {
    /// Dotted; `apps[].id` is the `id` in each element of the list `apps`.
    package let path: String
    package let allowed: String
    /// As the file would have it; `null` is not set; nil: the key is required.
    package let fallback: JSON?
    package let isSecret: Bool
    package let comment: String
    package let schema: JSON
    package let fromText: @Sendable (String) -> JSON

    package var isRequired: Bool { fallback == nil }

    /// The last part of the path.
    package var name: String {
        String(path[(path.lastIndex(of: ".").map { path.index(after: $0) } ?? path.startIndex)...])
    }

    /// What precedes the name: empty, `ingest`, `apps[]` or `apps[].server_api`.
    package var section: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

    /// The environment variable that sets it; none for keys inside a list.
    package var variable: String? {
        path.contains("[]") ? nil : "ENTITLED_" + path.uppercased().replacing(".", with: "_")
    }

    /// The environment variable that names a file with the value; for secrets only.
    package var fileVariable: String? { isSecret ? variable.map { $0 + "_FILE" } : nil }
}
