/// Why the private cluster cannot run, in words for the person who starts it.
package struct PrivateClusterError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }

    /// The last lines of what a program said.
    static func tail(_ text: String, lines: Int = 8) -> String {
        text.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }
}
