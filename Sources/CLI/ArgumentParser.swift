import Daemon

/// Reads a command line against a tree of commands.
///
/// Options may stand anywhere, as `--name value` or `--name=value`; after `--` everything is an argument.
package struct ArgumentParser<Context>: Sendable {
    package enum Request: Sendable {
        /// - Parameter global: the values of the program's global options.
        case command(CommandNode<Context>, path: [String], ParsedArguments, global: ParsedArguments)
        /// Help for the command or group at this path.
        case help(CommandNode<Context>, path: [String])
        /// A group without one of its commands.
        case group(CommandNode<Context>, path: [String])
    }

    private let program: ProgramDeclaration
    private var node: CommandNode<Context>
    private var path: [String] = []
    private var words: ArraySlice<String>
    private var onlyArguments = false
    private var wantsHelp = false
    private var arguments: [String] = []
    private var parsed = ParsedArguments()
    private var global = ParsedArguments()

    private init(_ words: [String], _ root: CommandNode<Context>, _ program: ProgramDeclaration) {
        self.words = words[...]
        self.program = program
        node = root
    }

    /// The request of a command line; `words` without the program's own name. Throws `UsageError` for wrong use.
    package static func parse(
        _ words: [String], _ root: CommandNode<Context>, of program: ProgramDeclaration
    ) throws(UsageError) -> Request {
        var parser = ArgumentParser(words, root, program)
        return try parser.run()
    }

    private mutating func run() throws(UsageError) -> Request {
        while let word = words.popFirst() {
            if onlyArguments {
                try take(word)
            } else if word == "--" {
                onlyArguments = true
            } else if word == "-h" || word == "--help" {
                wantsHelp = true
            } else if word.hasPrefix("-"), word != "-" {
                try option(word)
            } else {
                try take(word)
            }
        }
        if wantsHelp { return .help(node, path: path) }
        guard node.children.isEmpty else { return .group(node, path: path) }
        try assign()
        return .command(node, path: path, parsed, global: global)
    }

    /// The words up to here.
    private var command: String { ([program.name] + path).joined(separator: " ") }

    /// A command's name, or an argument.
    private mutating func take(_ word: String) throws(UsageError) {
        guard !node.children.isEmpty else {
            arguments.append(word)
            return
        }
        if path.isEmpty, !wantsHelp, word == "help" {
            wantsHelp = true
            return
        }
        guard let child = node.child(word) else {
            let names = node.children.map(\.declaration.name)
            let meant = Suggestion.closest(to: word, in: names).map { "did you mean '\($0)'?" }
            let hint = meant ?? "there are: \(names.joined(separator: ", "))"
            let known = (path + [word]).joined(separator: " ")
            throw UsageError("unknown command '\(Terminal.harmless(known))'; \(hint)")
        }
        node = child
        path.append(word)
    }

    private mutating func option(_ word: String) throws(UsageError) {
        if path.isEmpty, word == "--version" || word == "-V" { return try take("version") }
        let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let name = parts.first ?? word
        // An option of the command's own comes before one of all commands.
        let isGlobal = !node.declaration.options.contains { $0.name == name }
        let known = node.declaration.options + program.globalOptions
        guard let option = known.first(where: { $0.name == name }) else {
            if let reason = program.refusals[name] { throw UsageError("\(command) \(reason)") }
            let meant = Suggestion.closest(to: name, in: known.map(\.name)).map { "did you mean \($0)?" }
            throw UsageError(
                "unknown option \(Terminal.harmless(name)) of \(command); \(meant ?? "see \(command) --help")")
        }
        let text = try value(of: option, attached: parts.count > 1 ? parts[1] : nil)
        let isRepeated = isGlobal ? global.has(name) : parsed.has(name)
        guard !isRepeated || option.isRepeatable || option.value == nil else {
            throw UsageError("\(name) of \(command) is given twice")
        }
        if isGlobal {
            global.add(text, for: name)
        } else {
            parsed.add(text, for: name)
        }
    }

    /// The value that belongs to an option; empty for a switch.
    private mutating func value(of option: OptionDeclaration, attached: String?) throws(UsageError) -> String {
        guard let kind = option.value else {
            if attached != nil { throw UsageError("\(option.name) of \(command) takes no value") }
            return ""
        }
        if let attached { return try checked(attached, kind, option.name) }
        guard let next = words.first, !next.hasPrefix("--") else {
            throw UsageError("\(option.name) of \(command) needs \(kind.allowed ?? kind.placeholder)")
        }
        words = words.dropFirst()
        return try checked(next, kind, option.name)
    }

    /// Gives the arguments their names.
    private mutating func assign() throws(UsageError) {
        var left = arguments[...]
        for declaration in node.declaration.arguments {
            if let text = left.popFirst() {
                parsed.add(try checked(text, declaration.value, declaration.name), for: declaration.name)
            } else if !declaration.isOptional {
                throw UsageError("\(command) needs \(declaration.name); see \(command) --help")
            }
        }
        if let extra = left.first {
            throw UsageError("\(command) has one argument too many: '\(Terminal.harmless(extra))'")
        }
        if let missing = node.declaration.options.first(where: { $0.isRequired && !parsed.has($0.name) }) {
            throw UsageError("\(command) needs \(missing.usage); see \(command) --help")
        }
    }

    private func checked(_ text: String, _ kind: ValueKind, _ name: String) throws(UsageError) -> String {
        guard kind.accepts(text) else {
            let allowed = kind.allowed.map { "; allowed: \($0)" } ?? ""
            throw UsageError("\(name) of \(command) cannot be '\(Terminal.harmless(text))'\(allowed)")
        }
        return text
    }
}
