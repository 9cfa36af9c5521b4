/// Characters that cannot be seen, or that change how others are seen: written as their numbers.
enum Unseen {
    /// Whether the character is shown as it is. A space is the only white space that is.
    static func isSeen(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value >= 0x20, scalar.value < 0x7f { return true }
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator,
            .spaceSeparator:
            return false
        default: return !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    /// `U+202E`.
    static func name(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16, uppercase: true)
        return "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    /// The text with `⟨U+202E⟩` in place of what cannot be seen.
    static func shown(_ text: String) -> String {
        guard !text.unicodeScalars.allSatisfy(isSeen) else { return text }
        return text.unicodeScalars.reduce(into: "") { result, scalar in
            if isSeen(scalar) {
                result.unicodeScalars.append(scalar)
            } else {
                result += "⟨\(name(scalar))⟩"
            }
        }
    }

    /// The text, with each character that cannot be seen as an element of its own.
    ///
    /// - Parameter keepsLines: whether line ends and tabs are left, where white space is preserved.
    static func nodes(of text: String, keepsLines: Bool = false) -> [Node] {
        var nodes: [Node] = []
        var run = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            guard !isSeen(scalar), !(keepsLines && (scalar == "\n" || scalar == "\t")) else {
                run.append(scalar)
                continue
            }
            if !run.isEmpty { nodes.append(.text(String(run))) }
            run.removeAll()
            nodes.append(Tag.span(.classes(.unseen)) { name(scalar) })
        }
        if !run.isEmpty { nodes.append(.text(String(run))) }
        return nodes
    }
}
