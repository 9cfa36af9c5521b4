/// The help of a command or a group.
package enum HelpText {
    /// Characters of a line where no terminal says how many it has, and the most where it does.
    package static let width = 100

    /// - Parameter width: characters of a line.
    package static func text<Context>(
        _ node: CommandNode<Context>, path: [String], of program: ProgramDeclaration, width: Int = width
    ) -> String {
        let call = ([program.name] + path).joined(separator: " ")
        let declaration = node.declaration
        var parts = [wrapped(declaration.summary, indent: 0, width: width), "Usage: " + usage(node, call, width)]
        if !declaration.discussion.isEmpty {
            parts.append(
                declaration.discussion.split(separator: "\n", omittingEmptySubsequences: false).map {
                    wrapped(String($0), indent: 0, width: width)
                }.joined(separator: "\n"))
        }
        for topic in declaration.topics { parts.append(list(topic.title, topic.entries, width: width)) }
        if !node.children.isEmpty {
            let entries = node.children.map { (name: $0.declaration.name, text: $0.declaration.summary) }
            parts.append(list("Commands", entries, width: width))
        }
        if !declaration.arguments.isEmpty {
            let entries = declaration.arguments.map { (name: $0.name, text: explained($0.summary, $0.value)) }
            parts.append(list("Arguments", entries, width: width))
        }
        if !declaration.options.isEmpty {
            parts.append(list("Options", declaration.options.map(described), width: width))
        }
        parts.append(list("Global options", program.globalOptions.map(described), width: width))
        if !declaration.examples.isEmpty {
            parts.append("Examples:\n" + declaration.examples.map { "  \(program.name) \($0)" }.joined(separator: "\n"))
        }
        if !node.children.isEmpty {
            parts.append(wrapped("`\(call) COMMAND --help` describes a command.", indent: 0, width: width))
        }
        return parts.joined(separator: "\n\n") + "\n"
    }

    private static func usage<Context>(_ node: CommandNode<Context>, _ call: String, _ width: Int) -> String {
        guard node.children.isEmpty else { return call + " COMMAND …" }
        let arguments = node.declaration.arguments.map { $0.isOptional ? "[\($0.name)]" : $0.name }
        let options = node.declaration.options.map {
            ($0.isRequired ? $0.usage : "[\($0.usage)]") + ($0.isRepeatable ? "…" : "")
        }
        return wrapped(
            ([call] + arguments + options).joined(separator: " "), indent: 4, first: "Usage: ".count, width: width
        )
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
    static func list(
        _ title: String, _ entries: [(name: String, text: String)], width: Int = width
    ) -> String {
        let column = min(30, (entries.map(\.name.count).max() ?? 0) + 4)
        let lines = entries.map { name, text in
            let left = "  \(name)"
            let body = wrapped(text, indent: column, first: column, width: width)
            return left.count + 2 > column
                ? left + "\n" + spaces(column) + body : left + spaces(column - left.count) + body
        }
        return "\(title):\n" + lines.joined(separator: "\n")
    }

    /// Lines of at most `width` characters; the first begins at `first`, the others are indented.
    static func wrapped(_ text: String, indent: Int, first: Int? = nil, width: Int = width) -> String {
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
