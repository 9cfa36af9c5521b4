import Base
import CLI
import Daemon

/// A command that can ask the operator API (`--url`) instead of the database.
package protocol RemoteCommand: ParsableCommand where Context == CommandContext {
    /// Names the operator API.
    static var urlOption: OptionDeclaration { get }
}

extension RemoteCommand {
    package static var urlOption: OptionDeclaration { RemoteOptions.url }

    package static var declaration: CommandDeclaration {
        CommandDeclaration(configuration, inputs: inputs + RemoteOptions.all(urlOption).map { .option($0) })
    }
}

extension RemoteCommand where Self: ReadingCommand {
    package static var declaration: CommandDeclaration {
        CommandDeclaration(
            configuration, inputs: inputs + [.option(Watch.option)] + RemoteOptions.all(urlOption).map { .option($0) })
    }
}

/// Which operator API a command asks, and with which key. A key is never an argument, which every user of a host can read.
enum RemoteOptions {
    static let url = OptionDeclaration(
        "--url", .text("URL"),
        "Ask the operator API at this URL instead of the database; default: $ENTITLED_URL. No configuration is needed.")
    static let keyFile = OptionDeclaration(
        "--key-file", .file,
        "With --url, the file with the key (`entitled users key`); default: $ENTITLED_KEY_FILE, else the key itself in"
            + " $ENTITLED_KEY.")
    static let caFile = OptionDeclaration(
        "--ca-file", .file,
        "With --url, a PEM file of the authorities to trust instead of the system's; default: $ENTITLED_CA_FILE.")

    static func all(_ url: OptionDeclaration) -> [OptionDeclaration] { [url, keyFile, caFile] }

    static let onHostOnly = "works on the host of the installation only: the operator API does not have it"

    /// Variables of the environment that are no keys of the configuration.
    static let variables = [urlVariable, keyVariable, keyFileVariable, caFileVariable]

    private static let urlVariable = "ENTITLED_URL"
    private static let keyVariable = "ENTITLED_KEY"
    private static let keyFileVariable = "ENTITLED_KEY_FILE"
    private static let caFileVariable = "ENTITLED_CA_FILE"

    /// Commands and processes that work on no installation's data, or are one.
    private static let independent: Set = [
        "run", "ingest", "worker", "api", "console", "verify", "version", "check-config",
    ]

    /// The client that a command asks with; nil: it asks the database.
    ///
    /// - Throws: `UsageError`, also where the environment names an installation that the command would not work on.
    static func client(
        for command: any Command<CommandContext>, _ path: [String], _ parsed: ParsedArguments, _ context: CommandContext
    ) throws -> OperatorClient? {
        func variable(_ name: String) -> String? { context.environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        let isRemote = command is any RemoteCommand
        // An option of the usual name may be the command's own, such as the URL of an endpoint.
        let url = (type(of: command) as? any RemoteCommand.Type)?.urlOption ?? url
        let given = isRemote ? parsed.text(url.name) : nil
        guard let text = given ?? variable(urlVariable) else {
            if isRemote, let lonely = [keyFile, caFile].first(where: { parsed.has($0.name) }) {
                throw UsageError("\(lonely.name) needs \(url.name), or ENTITLED_URL in the environment")
            }
            return nil
        }
        guard isRemote else {
            guard let first = path.first, !independent.contains(first) else { return nil }
            throw UsageError(
                "entitled \(path.joined(separator: " ")) \(onHostOnly); ENTITLED_URL is set: unset it on this host")
        }
        let address = try RemoteAddress(text, named: given == nil ? urlVariable : url.name)
        let key = try RemoteKey(
            file: parsed.text(keyFile.name), variables: (file: variable(keyFileVariable), key: variable(keyVariable)))
        return try OperatorClient(
            address, key, caFile: parsed.text(caFile.name) ?? variable(caFileVariable))
    }
}
