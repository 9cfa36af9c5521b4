extension String {
    /// Columns that a terminal needs for the text: two for each wide character of East Asian scripts and each emoji.
    var displayWidth: Int {
        guard !utf8.allSatisfy({ $0 < 0x80 }) else { return utf8.count }
        return reduce(0) { $0 + ($1.unicodeScalars.first?.isWide == true ? 2 : 1) }
    }

    /// The text with spaces behind it, or before it.
    func padded(to width: Int, isRight: Bool = false) -> String {
        let spaces = String(repeating: " ", count: max(0, width - displayWidth))
        return isRight ? spaces + self : self + spaces
    }

    /// Lines of at most so many columns, broken between words; a word that is longer is cut.
    package func lines(ofWidth width: Int) -> [String] {
        var lines: [String] = []
        var line = ""
        var used = 0
        for word in split(separator: " ", omittingEmptySubsequences: false) {
            for part in String(word).parts(ofWidth: max(1, width)) {
                let size = part.displayWidth
                if used == 0 {
                    line = part
                    used = size
                } else if used + 1 + size <= width {
                    line += " \(part)"
                    used += 1 + size
                } else {
                    lines.append(line)
                    (line, used) = (part, size)
                }
            }
        }
        return lines + [line]
    }

    /// A line that continues below itself where it is too long for a screen.
    ///
    /// - Parameters:
    ///   - indent: columns before each further line, and before this text on the first.
    ///   - width: of the screen, in columns; nil: the line stays whole.
    package func hanging(by indent: Int, ofWidth width: Int?) -> String {
        guard let width, indent + displayWidth > width else { return self }
        return lines(ofWidth: max(20, width - indent)).joined(separator: "\n" + String(repeating: " ", count: indent))
    }

    /// A line of a record, `name    value`, whose value continues below itself.
    func hangingValue(ofWidth width: Int) -> String {
        guard displayWidth > width else { return self }
        let margin = prefix { $0 == " " }.count
        let name = dropFirst(margin).ranges(of: "  ").first.map { self[..<$0.lowerBound] } ?? prefix(margin)
        let value = self[name.endIndex...].drop { $0 == " " }
        let column = String(self[..<value.startIndex]).displayWidth
        guard column < width / 2 else { return lines(ofWidth: width).joined(separator: "\n  ") }
        return self[..<value.startIndex] + String(value).hanging(by: column, ofWidth: width)
    }

    private func parts(ofWidth width: Int) -> [String] {
        guard displayWidth > width else { return [self] }
        var parts: [String] = []
        var part = ""
        for character in self {
            if (part + String(character)).displayWidth > width, !part.isEmpty {
                parts.append(part)
                part = ""
            }
            part.append(character)
        }
        return parts + [part]
    }
}

extension Unicode.Scalar {
    /// The blocks of Unicode's East Asian Width that are wide, and emoji.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var isWide: Bool { Unicode.Scalar.wide.contains { $0.contains(value) } }
}
