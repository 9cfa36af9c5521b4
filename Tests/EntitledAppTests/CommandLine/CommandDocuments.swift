import CLI
import EntitledApp

/// The files that follow from the declarations of commands: the manual page, the completions of bash and zsh, and all help
/// texts in one file.
struct CommandDocuments {
    private let root: CommandNode<CommandContext>
    private let leaves: [(path: [String], node: CommandNode<CommandContext>)]

    init(_ root: CommandNode<CommandContext>) {
        self.root = root
        leaves = root.leaves
    }

    /// Every help text, groups before their commands.
    var help: String {
        func pages(_ node: CommandNode<CommandContext>, _ path: [String]) -> [String] {
            let title = (["entitled"] + path).joined(separator: " ")
            let line = String(repeating: "=", count: title.count)
            return ["\(title)\n\(line)\n\n\(HelpText.text(node, path: path, of: .entitled))"]
                + node.children.flatMap { pages($0, path + [$0.declaration.name]) }
        }
        return pages(root, []).joined(separator: "\n")
    }

    // MARK: - The manual page

    /// Section 1 in man(7).
    var manual: String {
        var lines = [
            #".\" Generated from the declarations of commands."#, ".TH ENTITLED 1 \"\" entitled \"User Commands\"",
            ".SH NAME", "entitled \\- \(CommandDocuments.roff(lowered(root.declaration.summary)))", ".SH SYNOPSIS",
            ".B entitled", ".I COMMAND", "[\\fIOPTION\\fR]...", ".SH COMMANDS",
        ]
        for (path, node) in leaves {
            let declaration = node.declaration
            lines.append(".SS \(CommandDocuments.roff(path.joined(separator: " ") + usage(declaration)))")
            lines.append(CommandDocuments.roff(declaration.summary))
            for paragraph in declaration.discussion.split(separator: "\n") {
                lines += [".PP", CommandDocuments.roff(String(paragraph.drop { $0 == " " }))]
            }
            for topic in declaration.topics {
                lines += [".PP", CommandDocuments.roff("\(topic.title):")]
                lines += topic.entries.flatMap { entry($0.name, $0.text, nil) }
            }
            for argument in declaration.arguments {
                lines += entry(argument.name, argument.summary, argument.value)
            }
            for option in declaration.options { lines += entry(option.usage, option.summary, option.value) }
            if !declaration.examples.isEmpty {
                lines += [".PP", "Examples:", ".PP", ".nf"]
                lines += declaration.examples.map { CommandDocuments.roff("entitled \($0)") } + [".fi"]
            }
        }
        lines.append(".SH OPTIONS OF EVERY COMMAND")
        for option in ProgramDeclaration.entitled.globalOptions {
            lines += entry(option.usage, option.summary, option.value)
        }
        lines += [
            ".SH EXIT STATUS", ".TP", "0", "The command succeeded.", ".TP", "1", "The command failed.", ".TP", "2",
            "The command line or the configuration is wrong.", ".SH ENVIRONMENT", ".TP", "ENTITLED_CONFIG",
            "Path of the configuration file.", ".TP", "ENTITLED_DATABASE_URL, ...",
            CommandDocuments.roff("Values of single keys; `entitled check-config --help` lists them."), ".TP",
            "ENTITLED_URL, ENTITLED_KEY_FILE, ENTITLED_KEY, ENTITLED_CA_FILE",
            CommandDocuments.roff("As --url, --key-file, the key itself, and --ca-file."), ".TP", "NO_COLOR",
            "Print without colours.", ".TP", "PAGER",
            "Program that shows output that is longer than the screen, on a terminal only.", ".SH FILES", ".TP",
            "/etc/entitled/entitled.json5",
            "The configuration, unless --config or ENTITLED_CONFIG names another file.".replacing("--", with: "\\-\\-"),
        ]
        return lines.joined(separator: "\n") + "\n"
    }

    private func usage(_ declaration: CommandDeclaration) -> String {
        let arguments = declaration.arguments.map { $0.isOptional ? " [\($0.name)]" : " \($0.name)" }
        let required = declaration.options.filter(\.isRequired).map { " \($0.usage)" }
        return (arguments + required).joined()
    }

    private func entry(_ name: String, _ summary: String, _ value: ValueKind?) -> [String] {
        let allowed = value.flatMap { $0.isWorthExplaining ? $0.allowed : nil }.map { " Allowed: \($0)." } ?? ""
        return [".TP", "\\fB\(CommandDocuments.roff(name))\\fR", CommandDocuments.roff(summary + allowed)]
    }

    private func lowered(_ sentence: String) -> String {
        (sentence.prefix(1).lowercased() + sentence.dropFirst()).trimmingSuffix { $0 == "." }
    }

    /// Text that roff prints as it is.
    private static func roff(_ text: String) -> String {
        let escaped = text.replacing("\\", with: "\\e").replacing("-", with: "\\-")
        return escaped.hasPrefix(".") || escaped.hasPrefix("'") ? "\\&" + escaped : escaped
    }

    // MARK: - Completions

    private var nodes: [(path: String, node: CommandNode<CommandContext>)] {
        func all(_ node: CommandNode<CommandContext>, _ path: [String]) -> [(
            path: String, node: CommandNode<CommandContext>
        )] {
            [(path.joined(separator: " "), node)] + node.children.flatMap { all($0, path + [$0.declaration.name]) }
        }
        return all(root, [])
    }

    private func options(of node: CommandNode<CommandContext>) -> [OptionDeclaration] {
        node.declaration.options + ProgramDeclaration.entitled.globalOptions
    }

    /// What may stand at the command's place in the line.
    private func words(_ node: CommandNode<CommandContext>, isRoot: Bool) -> String {
        let more = isRoot ? ["help", "--version"] : []
        return (node.children.map(\.declaration.name) + more + options(of: node).map(\.name)).joined(separator: " ")
    }

    private var commandPaths: String { nodes.dropFirst().map { "\"\($0.path)\"" }.joined(separator: " | ") }

    /// One line for each option with a value: how it is completed, `words …` or `files`.
    private func values(_ choices: (String) -> String, _ files: String) -> [String] {
        nodes.flatMap { path, node in
            node.declaration.options.compactMap { option in
                switch option.value {
                case .choice(let words, _): "\"\(path) \(option.name)\") \(choices(words.joined(separator: " "))) ;;"
                case .file: "\"\(path) \(option.name)\") \(files) ;;"
                case nil: nil
                case .some: "\"\(path) \(option.name)\") return ;;"
                }
            }
        } + ["*\" --config\") \(files) ;;"]
    }

    var bash: String {
        """
        # Completion of entitled for bash. Generated from the declarations of commands.
        _entitled() {
            local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} path= next index
            COMPREPLY=()
            for ((index = 1; index < COMP_CWORD; index++)); do
                next=${path:+$path }${COMP_WORDS[index]}
                case $next in
                    \(commandPaths)) path=$next ;;
                esac
            done
            case "$path $previous" in
        \(values({ "mapfile -t COMPREPLY < <(compgen -W \"\($0)\" -- \"$current\"); return" },
            "mapfile -t COMPREPLY < <(compgen -f -- \"$current\"); return").map { "        " + $0 }.joined(separator: "\n"))
            esac
            local words
            case $path in
        \(nodes.map { "        \"\($0.path)\") words=\"\(words($0.node, isRoot: $0.path.isEmpty))\" ;;" }
            .joined(separator: "\n"))
            esac
            mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
        }
        complete -o default -F _entitled entitled

        """
    }

    var zsh: String {
        func described(_ name: String, _ summary: String) -> String {
            let text = "\(name.replacing(":", with: "\\:")):\(summary)"
            return "'" + text.replacing("'", with: "'\\''") + "'"
        }
        let cases = nodes.map { path, node in
            let entries =
                node.children.map { described($0.declaration.name, $0.declaration.summary) }
                + options(of: node).map { described($0.name, $0.summary) }
            return "        \"\(path)\") entries=(\(entries.joined(separator: " "))) ;;"
        }
        return """
            #compdef entitled
            # Completion of entitled for zsh. Generated from the declarations of commands.
            _entitled() {
                local path_of_command= next index
                local -a entries
                for ((index = 2; index < CURRENT; index++)); do
                    next=${path_of_command:+$path_of_command }${words[index]}
                    case $next in
                        \(commandPaths)) path_of_command=$next ;;
                    esac
                done
                case "$path_of_command ${words[CURRENT - 1]}" in
            \(values({ "compadd -- \($0); return" }, "_files; return").map { "        " + $0 }.joined(separator: "\n"))
                esac
                case $path_of_command in
            \(cases.joined(separator: "\n"))
                esac
                _describe entitled entries || _files
            }
            _entitled "$@"

            """
    }
}

extension String {
    fileprivate func trimmingSuffix(_ condition: (Character) -> Bool) -> String {
        var text = self[...]
        while let last = text.last, condition(last) { text = text.dropLast() }
        return String(text)
    }
}
