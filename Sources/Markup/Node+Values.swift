import Base

extension Node {
    /// Text where no element may stand, such as a title, with `⟨U+202E⟩` in place of what cannot be seen.
    package static func shown(_ text: String) -> Node { .text(Unseen.shown(text)) }

    /// An id, shortened in the middle; the whole of it is in `title`.
    ///
    /// - Parameter shown: characters that are shown at most.
    package static func identifier(_ id: String, shown: Int = 24) -> Node {
        guard id.count > shown else { return Tag.code(.classes(.id)) { untrusted(id) } }
        let half = (shown - 1) / 2
        return Tag.code(.classes(.id), .title(id)) { untrusted("\(id.prefix(half))…\(id.suffix(half))") }
    }

    /// Text with lines of its own, such as what another server answered.
    package static func lines(_ text: String, spoken: String) -> Node {
        Tag.pre(.classes(.raw), .focusable, .role(.region), .spoken(spoken)) {
            Tag.bdi { .group(Unseen.nodes(of: text, keepsLines: true)) }
        }
    }

    /// A JSON value, indented, each part of it an element.
    package static func json(_ value: JSON, spoken: String) -> Node {
        Tag.pre(.classes(.json), .focusable, .role(.region), .spoken(spoken)) {
            Tag.code { .group(JSONMarkup.nodes(of: value, depth: 0)) }
        }
    }
}

/// JSON as elements.
private enum JSONMarkup {
    static func nodes(of value: JSON, depth: Int) -> [Node] {
        switch value {
        case .object(let members):
            return members.isEmpty
                ? [.text("{}")]
                : lines("{", "}", depth, members) { member in
                    [Tag.span(.classes(.jsonName)) { quoted(member.name) }, .text(": ")]
                        + nodes(of: member.value, depth: depth + 1)
                }
        case .array(let values):
            return values.isEmpty ? [.text("[]")] : lines("[", "]", depth, values) { nodes(of: $0, depth: depth + 1) }
        case .string(let text): return [Tag.span(.classes(.jsonText)) { quoted(text) }]
        case .raw(let bytes):
            if let parsed = try? JSON(parsing: bytes) { return nodes(of: parsed, depth: depth) }
            return Unseen.nodes(of: String(decoding: bytes, as: UTF8.self))
        default: return [Tag.span(.classes(.jsonNumber)) { value.text }]
        }
    }

    private static func lines<Part>(
        _ start: String, _ end: String, _ depth: Int, _ parts: [Part], _ content: (Part) -> [Node]
    ) -> [Node] {
        let indent = "\n" + String(repeating: "  ", count: depth + 1)
        var nodes: [Node] = [.text(start)]
        for (index, part) in parts.enumerated() {
            nodes.append(.text((index == 0 ? "" : ",") + indent))
            nodes += content(part)
        }
        return nodes + [.text("\n" + String(repeating: "  ", count: depth) + end)]
    }

    /// The text in quotes, as JSON writes it, isolated.
    private static func quoted(_ text: String) -> [Node] {
        [Tag.bdi { .group(Unseen.nodes(of: JSON.string(text).text)) }]
    }
}
