import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled users password`.
struct UserPasswordCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "password", "Set or remove the console password of an operator.",
        discussion: "All sessions of the operator end. Operators set their own with a log-in link; see `users link`.",
        examples: ["users password anna --password-file -", "users password anna --remove"])

    @Argument(UserCommands.name) private var name: String
    @Option("--password-file", .text("FILE"), "File with the password on its only line; - for standard input.")
    private var file: String?
    @Flag("--remove", "Remove the password; log-in links still work.") private var removes: Bool

    func validate() throws {
        guard (file == nil) == removes else {
            throw UsageError("users password needs either --password-file or --remove")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        var hash: PasswordHash?
        if let file {
            let password = try SecretFile.line(file, of: "--password-file")
            guard PasswordHash.lengths.contains(password.count) else {
                throw UsageError(
                    "--password-file: a password must have from \(PasswordHash.lengths.lowerBound) to"
                        + " \(PasswordHash.lengths.upperBound) characters")
            }
            hash = PasswordHash(of: Redacted(password))
            if hash == nil { throw CommandFailure("there is not enough memory to hash the password; try again") }
        }
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let ended = try connection.transaction { () -> Int? in
            guard try PasswordTable.set(hash, of: name, on: connection) else { return nil }
            try LoginLinkTable.end(of: name, now: SystemClock().now(), on: connection)
            return try SessionTable.end(nil, of: name, now: SystemClock().now(), on: connection)
        }
        guard let ended else { throw try UserCommands.noSuch(name, on: connection) }
        if context.json {
            context.terminal.document(
                .object([
                    "name": .string(name), "has_password": .bool(!removes), "sessions_ended": .int(Int64(ended)),
                ]))
        } else {
            context.terminal.print(
                "\(removes ? "removed" : "set") the password of \(name); \(ended.counted("session")) ended")
        }
        return 0
    }
}
