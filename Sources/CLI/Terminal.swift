import Base
import Glibc

/// The output of a command: documents and tables on standard output, complaints on standard error.
package struct Terminal: Sendable {
    /// The word before each complaint.
    private let program: String
    /// Whether a person looks at standard output and colours do no harm.
    package let isInteractive: Bool
    /// The screen that shows standard output; nil for a file or a pipe.
    package let screen: Screen?
    private let output: @Sendable ([UInt8]) -> Void
    private let errors: @Sendable ([UInt8]) -> Void
    /// Whether a person looks at standard error.
    private let showsProgress: Bool
    /// The width of a line on standard error; nil where it is unknown.
    let progressColumns: Int?

    /// Asks the person at the terminal and returns the line of the answer; nil without a terminal.
    package let ask: (@Sendable (_ question: String) -> String)?
    /// Shows a text page by page; nil for none. False if it could not.
    private let pager: (@Sendable ([UInt8]) -> Bool)?

    package init(
        program: String = "entitled", isInteractive: Bool, screen: Screen? = nil, showsProgress: Bool = false,
        progressColumns: Int? = nil,
        ask: (@Sendable (String) -> String)? = nil, pager: (@Sendable ([UInt8]) -> Bool)? = nil,
        output: @escaping @Sendable ([UInt8]) -> Void,
        errors: @escaping @Sendable ([UInt8]) -> Void
    ) {
        self.program = program
        self.isInteractive = isInteractive
        self.screen = screen
        self.progressColumns = progressColumns
        self.showsProgress = showsProgress
        self.ask = ask
        self.pager = pager
        self.output = output
        self.errors = errors
    }

    /// That of this process. `NO_COLOR` (https://no-color.org) counts.
    package static func ofProcess(_ environment: [String: String], program: String = "entitled") -> Terminal {
        let isPlain = !(environment["NO_COLOR"] ?? "").isEmpty || environment["TERM"] == "dumb"
        let isThere = isatty(0) == 1 && isatty(2) == 1
        let ask: @Sendable (String) -> String = { question in
            Terminal.write(Array(question.utf8), to: 2)
            return readLine() ?? ""
        }
        return Terminal(
            program: program, isInteractive: isatty(1) == 1 && !isPlain, screen: .behind(1, environment),
            showsProgress: isatty(2) == 1 && !isPlain, progressColumns: Screen.behind(2, environment)?.columns,
            ask: isThere ? ask : nil, pager: isThere ? Pager(environment)?.show : nil,
            output: { Terminal.write($0, to: 1) },
            errors: { Terminal.write($0, to: 2) })
    }

    /// Whether long output is shown page by page.
    package var hasPager: Bool { pager != nil }

    /// The same terminal, with standard output going elsewhere.
    package func redirected(to output: @escaping @Sendable ([UInt8]) -> Void) -> Terminal {
        Terminal(
            program: program, isInteractive: isInteractive, screen: screen, showsProgress: showsProgress,
            progressColumns: progressColumns, ask: ask, output: output, errors: errors)
    }

    /// All that a command prints, through the pager if the screen is too small for it.
    package func page(_ bytes: [UInt8]) {
        let lines = bytes.reduce(0) { $0 + ($1 == UInt8(ascii: "\n") ? 1 : 0) }
        if let pager, let rows = screen?.rows, lines >= rows, pager(bytes) { return }
        output(bytes)
    }

    /// A text as it is, and a line end if it has none.
    package func print(_ text: String) {
        output(Array((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }

    /// Bytes as they are.
    package func write(_ bytes: [UInt8]) {
        output(bytes)
    }

    /// One JSON document: a line for machines, indented for people.
    package func document(_ json: JSON) {
        output((isInteractive ? Array(Terminal.escaped(json.indentedText).utf8) : json.bytes) + [UInt8(ascii: "\n")])
    }

    /// One JSON document of many, a line each.
    package func line(_ json: JSON) {
        output(json.bytes + [UInt8(ascii: "\n")])
    }

    package func table(_ table: TextTable) {
        print(table.text(bold: isInteractive, on: screen))
    }

    /// An instant: `2026-11-21T01:02:03Z`, on a screen with the local time and how long ago it was.
    package func time(_ milliseconds: Int64) -> String {
        screen?.time(milliseconds) ?? Timestamp.text(milliseconds)
    }

    /// A paragraph on one line; on a screen broken between words.
    package func paragraph(_ text: String) {
        print(screen.map { text.lines(ofWidth: $0.columns).joined(separator: "\n") } ?? text)
    }

    /// Lines such as `name    value`; on a screen a long value continues below itself.
    package func record(_ text: String) {
        guard let screen else { return print(text) }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        print(lines.map { String($0).hangingValue(ofWidth: screen.columns) }.joined(separator: "\n"))
    }

    /// One line on standard error: what is wrong.
    package func complain(_ message: String) {
        errors(Array("\(program): \(Terminal.harmless(message))\n".utf8))
    }

    /// A text as it is, on standard error.
    package func printError(_ text: String) {
        errors(Array((text.hasSuffix("\n") ? text : text + "\n").utf8))
    }

    /// Part of a line that is written again and again, on standard error; nothing unless that is a terminal.
    func progress(_ text: String) {
        guard showsProgress else { return }
        errors(Array(text.utf8))
    }

    /// The text with control characters replaced: what came from outside must not steer a terminal.
    package static func harmless(_ text: String) -> String {
        var result = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator: result.append(" ")
            case .format, .surrogate, .privateUse: result.append("\u{FFFD}")
            default: result.append(scalar)
            }
        }
        return String(result)
    }

    /// JSON text with the characters escaped that could steer a terminal: those that JSON lets stand.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control where scalar != "\n", .lineSeparator, .paragraphSeparator, .format, .privateUse:
                for unit in String(scalar).utf16 {
                    let digits = String(unit, radix: 16)
                    result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func write(_ bytes: [UInt8], to file: Int32) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let written = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard written > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, written))
        }
    }
}
