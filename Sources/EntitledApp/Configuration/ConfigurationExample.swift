import Base
import Daemon

/// The example file: every key at its default, with its comment. Keys without a default are commented out.
package enum ConfigurationExample {
    private static let header = """
        // The configuration of entitled, with every key at its default. JSON5: comments, trailing commas, names without quotes.
        //
        // It is read from --config FILE, else $ENTITLED_CONFIG, else /etc/entitled/entitled.json5 if that exists.
        // The environment overrides it: ENTITLED_INGEST_LISTEN sets ingest.listen, lists take JSON or commas, ENTITLED_APPS
        // takes all apps as JSON. A secret can be read from a file: ENTITLED_DATABASE_URL_FILE names one with database.url.
        // `entitled check-config` says what is wrong, all at once, and what is in force.
        //
        // Lines that begin with // and no space are examples of what is not set by default.

        """
    private static let width = 118

    package static var text: String {
        header + "{\n" + members(of: "", depth: 1, isExample: false).joined(separator: "\n") + "\n}\n"
    }

    /// - Parameter isExample: whether the lines are commented out.
    private static func members(of section: String, depth: Int, isExample: Bool) -> [String] {
        let indent = String(repeating: "  ", count: depth)
        let mark = isExample ? "//" : ""
        var lines: [String] = []
        for name in ConfigurationKeys.names(in: section) {
            if depth == 1, !lines.isEmpty { lines.append("") }
            let path = section.isEmpty ? name : "\(section).\(name)"
            if let entry = ConfigurationKeys.entry(path) {
                lines += comment(text(of: entry), indent)
                let value = entry.fallback.flatMap { $0 == .null ? nil : json5($0) }
                lines.append("\(indent)\(value == nil ? "//" : mark)\(name): \(value ?? entry.example ?? "null"),")
            } else if let list = ConfigurationKeys.sections[path + "[]"] {
                lines += comment(list.comment, indent)
                lines += ["\(indent)\(mark)\(name): [", "\(indent)  //{"]
                lines += members(of: path + "[]", depth: depth + 2, isExample: true)
                lines += ["\(indent)  //},", "\(indent)\(mark)],"]
            } else if let inner = ConfigurationKeys.sections[path] {
                lines += comment(inner.comment, indent)
                let isInnerExample = isExample || inner.kind == .optional
                lines.append("\(indent)\(isInnerExample ? "//" : "")\(name): {")
                lines += members(of: path, depth: depth + 1, isExample: isInnerExample)
                lines.append("\(indent)\(isInnerExample ? "//" : "")},")
            }
        }
        return lines
    }

    private static func text(of entry: ConfigurationEntry) -> String {
        let allowed = "\(entry.comment) Allowed: \(entry.allowed)."
        guard let example = entry.example, let fallback = entry.fallback, fallback != .null else { return allowed }
        return "\(allowed) Such as: \(example)"
    }

    /// Lines of a comment, broken between words.
    private static func comment(_ text: String, _ indent: String) -> [String] {
        var lines: [String] = []
        var line = "\(indent)//"
        for word in text.split(separator: " ") {
            if line.count + 1 + word.count > width {
                lines.append(line)
                line = "\(indent)//"
            }
            line += " \(word)"
        }
        return lines + [line]
    }

    /// One line of JSON5: names without quotes where they need none.
    private static func json5(_ value: JSON) -> String {
        if let members = value.members {
            if members.isEmpty { return "{}" }
            return "{ " + members.map { "\($0.name): \(json5($0.value))" }.joined(separator: ", ") + " }"
        }
        if let elements = value.arrayValue { return "[" + elements.map(json5).joined(separator: ", ") + "]" }
        return value.text
    }
}
