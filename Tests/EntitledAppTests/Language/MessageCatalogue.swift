import FoundationEssentials

/// The texts of the program that operators read: events of log lines, and errors.
struct MessageCatalogue {
    /// An event as log lines name it.
    struct Event: Hashable {
        let name: String
        let level: String
        let module: String
    }

    private(set) var events: Set<Event> = []
    /// Calls of a logger whose event stands elsewhere, as `MODULE: EXPRESSION`.
    private(set) var indirect: Set<String> = []
    /// Errors and findings, as `MODULE: TEXT`.
    private(set) var errors: Set<String> = []
    /// All literals of one line, by file.
    private(set) var texts: [String: [String]] = [:]

    /// `log` takes the level as its first argument.
    private static let levels: Set = ["debug", "info", "notice", "warning", "error", "log"]
    /// What these modules print is for engineers of this repository.
    private static let internalModules: Set = ["Benchmarks", "StoreSimulator", "CBuild"]

    /// - Parameter package: the folder of the package.
    init(_ package: URL) throws {
        for folder in ["Sources", "schemas"] {
            let root = package.appending(path: folder).path
            for file in try FileManager.default.subpathsOfDirectory(atPath: root).sorted()
            where file.hasSuffix(".swift") {
                let module = folder == "schemas" ? "Schemas" : file.split(separator: "/").first.map(String.init) ?? ""
                guard !MessageCatalogue.internalModules.contains(module) else { continue }
                let text = try String(contentsOfFile: "\(root)/\(file)", encoding: .utf8)
                read(SwiftSource(text), module, "\(folder)/\(file)")
            }
        }
    }

    private mutating func read(_ source: SwiftSource, _ module: String, _ file: String) {
        texts[file] = source.texts
        for index in source.tokens.indices {
            if source.isMark(".", at: index), let level = source.word(at: index + 1), source.isMark("(", at: index + 2),
                MessageCatalogue.levels.contains(level)
            {
                if MessageCatalogue.isLogger(source, before: index) {
                    readEvents(source, call: index + 2, level, module)
                } else if file.contains("/Doctor/") {
                    readErrors(source, index + 2..<source.end(of: index + 2), module)
                }
            }
            if source.word(at: index) == "StaticString", source.isMark("=", at: index + 1),
                case .text(let name)? = source.tokens.dropFirst(index + 2).first
            {
                events.insert(Event(name: name, level: "warning", module: module))
            }
            if let range = MessageCatalogue.errorRange(source, at: index) { readErrors(source, range, module) }
        }
    }

    /// Whether `logger`, `logger(…)`, `logger.with(…)` or `failures` stands before the dot.
    private static func isLogger(_ source: SwiftSource, before dot: Int) -> Bool {
        let receivers: Set = ["logger", "failures", "failure"]
        if let word = source.word(at: dot - 1) { return receivers.contains(word) }
        guard source.isMark(")", at: dot - 1) else { return false }
        var (index, depth) = (dot - 1, 0)
        repeat {
            if source.isMark(")", at: index) { depth += 1 }
            if source.isMark("(", at: index) { depth -= 1 }
            index -= 1
        } while depth > 0 && index >= 0
        return source.word(at: index) == "logger"
            || (source.word(at: index) == "with" && source.word(at: index - 2) == "logger")
    }

    private mutating func readEvents(_ source: SwiftSource, call open: Int, _ level: String, _ module: String) {
        var (index, depth) = (open + 1, 0)
        var words: [String] = []
        var found = false
        let shown = level == "log" ? "any" : level
        if level == "log" {
            while index < source.tokens.count, !source.isMark(",", at: index) { index += 1 }
            index += 1
        }
        while index < source.tokens.count {
            if source.isMark("(", at: index) || source.isMark("[", at: index) { depth += 1 }
            if source.isMark(")", at: index) || source.isMark("]", at: index) { depth -= 1 }
            if depth < 0 || (depth == 0 && source.isMark(",", at: index)) { break }
            if depth == 0, case .text(let name) = source.tokens[index] {
                events.insert(Event(name: name, level: shown, module: module))
                found = true
            }
            if let word = source.word(at: index) { words.append(word) }
            index += 1
        }
        if !found { indirect.insert("\(module): \(words.joined(separator: "."))") }
    }

    // MARK: - Errors

    /// Ends of the names of types and functions that make errors.
    private static let makers = [
        "Error", "Failure", "Mistake", "Rejection", "Flaw", "complain", "invalid", "badRequest", "notFound",
        "unavailable",
        "invalidReceipt",
    ]

    /// The arguments of an error that is made here, or the body of a `description`.
    private static func errorRange(_ source: SwiftSource, at index: Int) -> Range<Int>? {
        guard let word = source.word(at: index) else { return nil }
        let isError = MessageCatalogue.makers.contains { word.hasSuffix($0) }
        if isError, source.isMark("(", at: index + 1) { return index + 1..<source.end(of: index + 1) }
        if word == "description", source.isMark("{", at: index + 3) { return index + 3..<source.end(of: index + 3) }
        return nil
    }

    private mutating func readErrors(_ source: SwiftSource, _ range: Range<Int>, _ module: String) {
        for text in source.texts(in: range) where text.split(separator: " ").count > 2 {
            errors.insert("\(module): \(text)")
        }
    }
}
