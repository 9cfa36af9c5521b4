/// Wrong use of a command, in one line: exit status 2.
package struct UsageError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// What a command takes, for reading its arguments and for its help.
struct CommandSyntax {
    struct Option {
        let name: String
        /// What stands for the value in the help; nil for a flag.
        let value: String?
        let help: String
        var isRepeatable = false
    }

    let name: String
    let summary: String
    /// The operand's name in the help, if the command takes one.
    var operand: String?
    let options: [Option]

    /// Options may be given as `--name value` or `--name=value`; `--` ends them; `-` alone is an operand.
    func parse(_ arguments: [String]) throws(UsageError) -> CommandArguments {
        var parsed = CommandArguments(command: name)
        var rest = arguments[...]
        var optionsEnded = false
        while let argument = rest.popFirst() {
            if optionsEnded || !argument.hasPrefix("-") || argument == "-" {
                guard operand != nil, parsed.operand == nil else {
                    throw UsageError("storesim \(name): unexpected \"\(argument)\"")
                }
                parsed.operand = argument
            } else if argument == "--" {
                optionsEnded = true
            } else if argument == "--help" || argument == "-h" {
                parsed.wantsHelp = true
            } else {
                try parse(argument, &rest, into: &parsed)
            }
        }
        if let operand, parsed.operand == nil, !parsed.wantsHelp {
            throw UsageError("storesim \(name): \(operand) is missing")
        }
        return parsed
    }

    private func parse(
        _ argument: String, _ rest: inout ArraySlice<String>, into parsed: inout CommandArguments
    ) throws(UsageError) {
        let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let option = options.first(where: { $0.name == parts[0] }) else {
            throw UsageError("storesim \(name): unknown option \(parts[0])")
        }
        guard option.isRepeatable || parsed.values[option.name] == nil else {
            throw UsageError("storesim \(name): \(option.name) is given twice")
        }
        if option.value == nil {
            guard parts.count == 1 else { throw UsageError("storesim \(name): \(option.name) takes no value") }
            parsed.values[option.name] = [""]
            return
        }
        guard let value = parts.count == 2 ? parts[1] : rest.popFirst() else {
            throw UsageError("storesim \(name): \(option.name) needs a value")
        }
        parsed.values[option.name, default: []].append(value)
    }

    var help: String {
        let usage = "usage: storesim \(name)\(operand.map { " \($0)" } ?? "") [options]"
        let all = options + [Option(name: "--help", value: nil, help: "this text")]
        let names = all.map { $0.name + ($0.value.map { " \($0)" } ?? "") }
        let width = names.map(\.count).max() ?? 0
        let lines = zip(names, all).map { name, option in
            "  \(name)\(String(repeating: " ", count: width - name.count + 2))\(option.help)"
        }
        return ([usage, "", summary, ""] + lines).joined(separator: "\n")
    }
}
