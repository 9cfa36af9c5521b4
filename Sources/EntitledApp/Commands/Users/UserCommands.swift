import Base
import CLI
import Database
import Postgres

/// Shared by the commands of `entitled users`.
enum UserCommands {
    static let name = ArgumentDeclaration(
        .text("NAME"), "The operator's name: letters, digits and . _ @ + -, such as an e-mail address.")

    static func check(_ name: String) throws(UsageError) {
        guard ConsoleUserTable.isName(name) else {
            throw UsageError(
                "\(name) cannot be an operator's name: a name has letters, digits and . _ @ + -, and at most"
                    + " \(ConsoleUserTable.nameLimit) of them")
        }
    }

    static func noSuch(_ name: String, on connection: PostgresConnection) throws -> CommandFailure {
        let names = try ConsoleUserTable.list(live: true, on: connection).map(\.name)
        return CommandFailure(
            "there is no user \(name)\(NearestName.hint(for: name, among: names)); see `entitled users list`")
    }
}

extension OperatorRole: InputValue {}
