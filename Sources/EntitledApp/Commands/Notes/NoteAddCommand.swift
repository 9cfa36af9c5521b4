import Base
import CLI
import Customers
import Database
import Postgres
import Schemas

/// `entitled notes add`.
struct NoteAddCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "add", "Note something on a customer.",
        discussion: "A note goes with its customer, through aliases and into a deletion. \(ChangeOptions.help)",
        examples: ["notes add user-42 'Called about the refund; waits for the bank.'"])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(.text("TEXT"), "The note, of at most 4000 characters.") private var text: String
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        guard !text.isEmpty, text.unicodeScalars.count <= CustomerNoteTable.longest else {
            throw UsageError("a note has from 1 to \(CustomerNoteTable.longest) characters")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if context.remote != nil {
            return try change.ask(context, ["customers", id, "notes"], ["text": .string(text)])
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        let note = try CustomerActions(configuration, context, reason: nil).note(
            text, about: customer.id, on: connection)
        if context.json {
            context.terminal.document(.object(["note": .int(note.id), "app_user_id": .string(customer.id)]))
        } else {
            context.terminal.print(Terminal.harmless("note \(note.id) is on \(customer.id)"))
        }
        return 0
    }
}
