/// Finds where a JSON5 text (https://spec.json5.org) goes wrong, for people who write it by hand: Foundation's decoder says
/// only that it does, and of two members of one name silently drops one.
package struct JSON5Diagnostics {
    package struct Fault: Error, Equatable {
        package let line: Int
        /// Characters up to there in its line, from 1.
        package let column: Int
        /// What would be right there; never a part of the text.
        package let message: String
    }

    /// The same name twice in one object.
    package struct Duplicate: Equatable {
        package let line: Int
        /// Dotted, with indices.
        package let path: String
    }

    private static let deepest = 64

    private let text: [Unicode.Scalar]
    private var index = 0
    private var line = 1
    /// The index of the first character of the line.
    private var lineStart = 0
    private var path: [String] = []
    private var duplicates: [Duplicate] = []

    private init(_ text: String) {
        self.text = Array(text.unicodeScalars)
    }

    /// The first fault of the text, or the duplicates in it.
    package static func find(in text: String) -> Result<[Duplicate], Fault> {
        var finder = JSON5Diagnostics(text)
        do throws(Fault) {
            try finder.value()
            try finder.skipBlanks()
            guard finder.current == nil else { throw finder.fault("nothing more is expected") }
            return .success(finder.duplicates)
        } catch {
            return .failure(error)
        }
    }

    private var current: Unicode.Scalar? { index < text.count ? text[index] : nil }

    private func fault(_ message: String) -> Fault {
        Fault(line: line, column: index - lineStart + 1, message: message)
    }

    private mutating func advance() {
        let isEnd = current == "\n"
        index += 1
        if isEnd { (line, lineStart) = (line + 1, index) }
    }

    private mutating func take(_ scalar: Unicode.Scalar) -> Bool {
        guard current == scalar else { return false }
        advance()
        return true
    }

    /// White space and comments.
    private mutating func skipBlanks() throws(Fault) {
        while let scalar = current {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                advance()
            } else if scalar == "/", index + 1 < text.count, text[index + 1] == "/" {
                while let scalar = current, scalar != "\n" { advance() }
            } else if scalar == "/", index + 1 < text.count, text[index + 1] == "*" {
                try skipBlock()
            } else {
                return
            }
        }
    }

    private mutating func skipBlock() throws(Fault) {
        let start = fault("a comment begins here and does not end")
        index += 2
        while current != nil {
            if take("*") {
                if take("/") { return }
            } else {
                advance()
            }
        }
        throw start
    }

    private mutating func value() throws(Fault) {
        try skipBlanks()
        guard path.count < JSON5Diagnostics.deepest else { throw fault("nested too deep") }
        switch current {
        case "{": try object()
        case "[": try list()
        case "\"", "'": _ = try quoted()
        default:
            let here = fault("a value is expected")
            let word = bareWord()
            guard !word.isEmpty else { throw here }
            guard JSON5Diagnostics.isValue(word) else {
                throw Fault(line: here.line, column: here.column, message: "texts need quotes")
            }
        }
    }

    private static func isValue(_ word: String) -> Bool {
        let unsigned = word.drop { $0 == "+" || $0 == "-" }
        return ["true", "false", "null", "Infinity", "NaN"].contains(unsigned)
            || unsigned.first.map { $0.isNumber || $0 == "." } ?? false
    }

    private mutating func object() throws(Fault) {
        let start = fault("an object begins here and does not end")
        advance()
        var names: Set<String> = []
        while true {
            try skipBlanks()
            if take("}") { return }
            guard current != nil else { throw start }
            let here = line
            let name = current == "\"" || current == "'" ? try quoted() : bareWord()
            guard !name.isEmpty else { throw fault("a name or } is expected") }
            path.append(path.isEmpty ? name : "." + name)
            if !names.insert(name).inserted {
                duplicates.append(Duplicate(line: here, path: path.joined()))
            }
            try skipBlanks()
            guard take(":") else { throw fault("a colon is expected after a name") }
            try value()
            path.removeLast()
            try skipBlanks()
            if take(",") || current == "}" { continue }
            throw current == nil ? start : fault("a comma or } is expected")
        }
    }

    private mutating func list() throws(Fault) {
        let start = fault("a list begins here and does not end")
        advance()
        var count = 0
        while true {
            try skipBlanks()
            if take("]") { return }
            guard current != nil else { throw start }
            path.append("[\(count)]")
            try value()
            path.removeLast()
            count += 1
            try skipBlanks()
            if take(",") || current == "]" { continue }
            throw current == nil ? start : fault("a comma or ] is expected")
        }
    }

    /// The text between quotes, as it is written.
    private mutating func quoted() throws(Fault) -> String {
        let start = fault("a text begins here and does not end")
        guard let quote = current else { throw start }
        advance()
        var content = String.UnicodeScalarView()
        while let scalar = current, scalar != "\n" {
            advance()
            if scalar == quote { return String(content) }
            content.append(scalar)
            if scalar == "\\", let escaped = current {
                content.append(escaped)
                advance()
            }
        }
        throw start
    }

    /// A name, number or word without quotes.
    private mutating func bareWord() -> String {
        var word = String.UnicodeScalarView()
        while let scalar = current, scalar.properties.isIDContinue || "$_+-.\\".unicodeScalars.contains(scalar) {
            word.append(scalar)
            advance()
        }
        return String(word)
    }
}
