import CLI

/// The help of a command or a group.
package enum HelpText {
    private static let width = 100

    package static func text(_ node: CommandNode, path: [String]) -> String {
        let declaration = node.declaration
        var parts = [declaration.summary, "Usage: " + usage(node, path)]
        if !declaration.discussion.isEmpty {
            parts.append(
                declaration.discussion.split(separator: "\n", omittingEmptySubsequences: false).map {
                    $0.hasPrefix(" ") ? String($0) : wrapped(String($0), indent: 0)
                }.joined(separator: "\n"))
        }
        if !node.children.isEmpty {
            parts.append(list("Commands", node.children.map { ($0.declaration.name, $0.declaration.summary) }))
        }
        if !declaration.arguments.isEmpty {
            parts.append(list("Arguments", declaration.arguments.map { ($0.name, explained($0.summary, $0.value)) }))
        }
        if !declaration.options.isEmpty {
            parts.append(list("Options", declaration.options.map(described)))
        }
        parts.append(list("Global options", ArgumentParser.globalOptions.map(described)))
        if !declaration.examples.isEmpty {
            parts.append("Examples:\n" + declaration.examples.map { "  entitled \($0)" }.joined(separator: "\n"))
        }
        if !node.children.isEmpty {
            parts.append("`\(call(path)) COMMAND --help` says more about a command.")
        }
        return parts.joined(separator: "\n\n") + "\n"
    }

    private static func call(_ path: [String]) -> String { (["entitled"] + path).joined(separator: " ") }

    private static func usage(_ node: CommandNode, _ path: [String]) -> String {
        guard node.children.isEmpty else { return call(path) + " COMMAND …" }
        let arguments = node.declaration.arguments.map { $0.isOptional ? "[\($0.name)]" : $0.name }
        let options = node.declaration.options.map { "[\($0.usage)]" + ($0.isRepeatable ? "…" : "") }
        return wrapped(([call(path)] + arguments + options).joined(separator: " "), indent: 4, first: "Usage: ".count)
    }

    private static func described(_ option: OptionDeclaration) -> (String, String) {
        let repeatable = option.isRepeatable ? " May be given repeatedly." : ""
        return (option.usage, (option.value.map { explained(option.summary, $0) } ?? option.summary) + repeatable)
    }

    private static func explained(_ summary: String, _ value: ValueKind) -> String {
        guard value.isWorthExplaining, let allowed = value.allowed else { return summary }
        return "\(summary) Allowed: \(allowed)."
    }

    /// Names on the left, what they are on the right.
    static func list(_ title: String, _ entries: [(name: String, text: String)]) -> String {
        let column = min(30, (entries.map(\.name.count).max() ?? 0) + 4)
        let lines = entries.map { name, text in
            let left = "  \(name)"
            let body = wrapped(text, indent: column, first: column)
            return left.count + 2 > column
                ? left + "\n" + spaces(column) + body : left + spaces(column - left.count) + body
        }
        return "\(title):\n" + lines.joined(separator: "\n")
    }

    /// Lines of at most `width` characters; the first begins at `first`, the others are indented.
    static func wrapped(_ text: String, indent: Int, first: Int? = nil) -> String {
        var result = ""
        var column = first ?? indent
        for word in text.split(separator: " ") {
            if !result.isEmpty, column + 1 + word.count > width {
                result += "\n" + spaces(indent)
                column = indent
            } else if !result.isEmpty {
                result += " "
                column += 1
            }
            result += word
            column += word.count
        }
        return result
    }

    private static func spaces(_ count: Int) -> String { String(repeating: " ", count: max(0, count)) }
}
