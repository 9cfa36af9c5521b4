/// A Swift file as words, marks and literals, without comments: as much of the language as finding texts takes.
struct SwiftSource {
    enum Token: Equatable {
        case word(String)
        /// Any other character.
        case mark(UInt8)
        /// A literal on one line; `…` stands for an interpolation.
        case text(String)
        /// A literal of several lines.
        case block(String)
    }

    private(set) var tokens: [Token] = []
    /// Literals inside of interpolations.
    private(set) var inner: [String] = []

    init(_ text: String) {
        var scanner = Scanner(bytes: Array(text.utf8))
        tokens = scanner.tokens()
        inner = scanner.inner
    }

    /// The literals of one line, in their order.
    var texts: [String] { tokens.compactMap { if case .text(let text) = $0 { text } else { nil } } + inner }

    func isMark(_ mark: Character, at index: Int) -> Bool {
        tokens.indices.contains(index) && tokens[index] == .mark(mark.asciiValue ?? 0)
    }

    func word(at index: Int) -> String? {
        guard tokens.indices.contains(index), case .word(let word) = tokens[index] else { return nil }
        return word
    }

    /// The index behind the bracket that closes the one at `open`.
    func end(of open: Int) -> Int {
        var depth = 0
        for index in open..<tokens.count {
            if isMark("(", at: index) || isMark("[", at: index) || isMark("{", at: index) { depth += 1 }
            if isMark(")", at: index) || isMark("]", at: index) || isMark("}", at: index) { depth -= 1 }
            if depth == 0 { return index + 1 }
        }
        return tokens.count
    }

    /// The literals in a range, those joined by `+` as one.
    func texts(in range: Range<Int>) -> [String] {
        var result: [String] = []
        for index in range {
            guard case .text(let text) = tokens[index] else { continue }
            if isMark("+", at: index - 1), index - 2 >= range.lowerBound, case .text = tokens[index - 2],
                let last = result.popLast()
            {
                result.append(last + text)
            } else {
                result.append(text)
            }
        }
        return result
    }
}

/// Splits the bytes of a file.
private struct Scanner {
    let bytes: [UInt8]
    var index = 0
    var inner: [String] = []

    init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private func isNext(_ text: StaticString, at offset: Int = 0) -> Bool {
        let start = index + offset
        guard start + text.utf8CodeUnitCount <= bytes.count else { return false }
        return text.withUTF8Buffer { buffer in
            buffer.indices.allSatisfy { buffer[$0] == bytes[start + $0] }
        }
    }

    private func isWord(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "_") || byte >= 0x80 || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
            || (0x61...0x7A).contains(byte)
    }

    /// Tokens up to the end, or up to the parenthesis that closes an interpolation.
    mutating func tokens(untilClosed: Bool = false) -> [SwiftSource.Token] {
        var result: [SwiftSource.Token] = []
        var depth = 0
        while index < bytes.count {
            let byte = bytes[index]
            if byte == 0x20 || byte == 0x0A {
                index += 1
            } else if isWord(byte) {
                let start = index
                while index < bytes.count, isWord(bytes[index]) { index += 1 }
                result.append(.word(String(decoding: bytes[start..<index], as: UTF8.self)))
            } else if byte == UInt8(ascii: "/"), isNext("//") {
                index = bytes[index...].firstIndex(of: 0x0A) ?? bytes.count
            } else if byte == UInt8(ascii: "#") || byte == UInt8(ascii: "\""), isNext("#\"\"\"") || isNext("\"\"\"") {
                result.append(.block(block()))
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "#") && isNext("#\"") {
                result.append(.text(literal()))
            } else {
                if byte == UInt8(ascii: "(") { depth += 1 }
                if byte == UInt8(ascii: ")") { depth -= 1 }
                index += 1
                if untilClosed, depth < 0 { return result }
                result.append(.mark(byte))
            }
        }
        return result
    }

    private mutating func block() -> String {
        let isRaw = bytes[index] == UInt8(ascii: "#")
        index += isRaw ? 4 : 3
        let start = index
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") || !isNext("\"\"\"") { index += 1 }
        defer { index += isRaw ? 4 : 3 }
        return String(decoding: bytes[start..<min(index, bytes.count)], as: UTF8.self)
    }

    private mutating func literal() -> String {
        let isRaw = bytes[index] == UInt8(ascii: "#")
        index += isRaw ? 2 : 1
        var text: [UInt8] = []
        while index < bytes.count, bytes[index] != UInt8(ascii: "\"") || (isRaw && !isNext("\"#")) {
            if !isRaw, bytes[index] == UInt8(ascii: "\\"), isNext("\\(") {
                index += 2
                for case .text(let nested) in tokens(untilClosed: true) { inner.append(nested) }
                text += Array("…".utf8)
            } else if !isRaw, bytes[index] == UInt8(ascii: "\\"), index + 1 < bytes.count {
                if bytes[index + 1] != UInt8(ascii: "\"") { text.append(bytes[index]) }
                text.append(bytes[index + 1])
                index += 2
            } else {
                text.append(bytes[index])
                index += 1
            }
        }
        index += isRaw ? 2 : 1
        return String(decoding: text, as: UTF8.self)
    }
}
