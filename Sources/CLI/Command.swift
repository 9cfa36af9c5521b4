/// One thing that a program does.
package protocol Command<Context>: Sendable {
    /// The surroundings that the program gives to its commands.
    associatedtype Context

    static var declaration: CommandDeclaration { get }

    /// Takes the arguments that the parser accepted; throws `UsageError` for those that only together make no sense.
    init(_ parsed: ParsedArguments) throws

    /// Does it; the exit status. The program prints what it throws as one line on standard error: `UsageError` ends with 2.
    func run(_ context: Context) throws -> Int32
}

/// A command whose declaration follows from its properties (`@Argument`, `@Option`, `@Flag`, `@OptionGroup`): one type, in
/// a file of its own, listed in the program's tree.
package protocol ParsableCommand<Context>: Command, ParsableArguments {
    static var configuration: CommandConfiguration { get }

    /// Reads what is read before the work begins. Throws `UsageError` for values that make no sense together.
    mutating func validate() throws
}

extension ParsableCommand {
    package static var declaration: CommandDeclaration { CommandDeclaration(configuration, inputs: inputs) }

    package init(_ parsed: ParsedArguments) throws {
        self.init(reading: parsed)
        try validate()
    }

    package mutating func validate() throws {}
}

/// The parts that all command lines of a program share.
package struct ProgramDeclaration: Sendable {
    /// The program's own word on a command line.
    package let name: String
    /// Options of every command.
    package let globalOptions: [OptionDeclaration]
    /// Options that only some commands have, and what is said of the others: the end of a sentence about the command.
    package let refusals: [String: String]

    package init(_ name: String, globalOptions: [OptionDeclaration], refusals: [String: String] = [:]) {
        self.name = name
        self.globalOptions = globalOptions
        self.refusals = refusals
    }
}
