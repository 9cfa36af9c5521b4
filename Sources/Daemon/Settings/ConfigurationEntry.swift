import Base

/// One key of the configuration, as help, JSON Schema and the example file describe it.
package struct ConfigurationEntry: Sendable {
    /// Dotted; `apps[].id` is the `id` in each element of the list `apps`.
    package let path: String
    package let allowed: String
    /// As the file would have it; `null` is not set; nil: the key is required.
    package let fallback: JSON?
    /// A value in JSON5, for the example file.
    package let example: String?
    package let isSecret: Bool
    package let comment: String
    package let schema: JSON
    package let fromText: @Sendable (String) -> JSON

    package init(
        path: String, allowed: String, fallback: JSON?, example: String?, isSecret: Bool, comment: String,
        schema: JSON, fromText: @escaping @Sendable (String) -> JSON
    ) {
        self.path = path
        self.allowed = allowed
        self.fallback = fallback
        self.example = example
        self.isSecret = isSecret
        self.comment = comment
        self.schema = schema
        self.fromText = fromText
    }

    package var isRequired: Bool { fallback == nil }

    /// The last part of the path.
    package var name: String {
        String(path[(path.lastIndex(of: ".").map { path.index(after: $0) } ?? path.startIndex)...])
    }

    /// The path before the name: empty, `ingest`, `apps[]` or `apps[].server_api`.
    package var section: String { path.lastIndex(of: ".").map { String(path[..<$0]) } ?? "" }

    /// The environment variable that sets the key; nil for keys inside a list.
    package var variable: String? {
        path.contains("[]") ? nil : "ENTITLED_" + path.uppercased().replacing(".", with: "_")
    }

    /// The environment variable that names a file with the value; for secrets only.
    package var fileVariable: String? { isSecret ? variable.map { $0 + "_FILE" } : nil }
}
