/// Names in statements (Postgres manual: "Identifiers and Key Words").
package enum PostgresIdentifier {
    /// A name as it stands in a statement, whatever characters it has.
    package static func quoted(_ name: String) -> String {
        "\"" + name.replacing("\"", with: "\"\"") + "\""
    }
}
