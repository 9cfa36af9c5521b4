import Base
import CLI
import Customers
import Database
import Postgres
import Schemas

/// `entitled notes list`.
struct NoteListCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "list", "List the notes on a customer, newest first.",
        discussion: "--json prints the answer of the operator API.", examples: ["notes list user-42"])

    @Argument(CustomerIDs.any) private var id: String
    @Option("--after", .text("CURSOR"), "Start after the page that ended with this cursor.") private var after: String?
    @Option(ListLimit.option) private var limit: Int = ListLimit.standard

    func run(_ context: CommandContext) throws -> Int32 {
        let list = try context.operators().list(["customers", id, "notes"], [], after: after, limit: limit)
        var table = TextTable([.time("at"), .number("id"), "author", .prose("note")])
        for note in list.items { table.add(["at", "id", "author", "text"].map(note.cell)) }
        AnswerPage.show(list, table, empty: "no notes", isFirst: after == nil, context)
        return 0
    }
}

/// `entitled notes add`.
struct NoteAddCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "add", "Add a note to a customer.",
        discussion:
            "A note stays with its customer when customers are merged, and is deleted with the customer."
            + " \(ChangeOptions.help)",
        examples: ["notes add user-42 'Called about the refund; waits for the bank.'"])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(.text("TEXT"), "The note, of at most 4000 characters.") private var text: String
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        guard !text.isEmpty, text.unicodeScalars.count <= CustomerNoteTable.longest else {
            throw UsageError("a note must have from 1 to \(CustomerNoteTable.longest) characters")
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

/// `entitled notes remove`.
struct NoteRemoveCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "remove", "Remove a note.",
        discussion:
            "With --url you can remove only your own notes; on the host you can remove any. \(ChangeOptions.help)",
        examples: ["notes remove user-42 17"])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer")) private var id: String
    @Argument(.integer(1...Int64.max, "N"), "The note's number, as `notes list` shows it.") private var number: Int64
    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if context.remote != nil {
            return try change.ask(context, ["customers", id, "notes", String(number), "remove"], [:])
        }
        try change.checkLocal()
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let customer = try CustomerArgument(id, for: .changing, on: connection)
        let ids = try CustomerTable.load([customer.id], on: connection)[customer.id]?.appUserIDs ?? [customer.id]
        let removal = try connection.transaction {
            try CustomerNoteTable.remove(number, of: ids, by: nil, on: connection)
        }
        guard case .done = removal else {
            throw CommandFailure("\(customer.id) has no note \(number); see `entitled notes list \(customer.id)`")
        }
        if context.json {
            context.terminal.document(.object(["note": .int(number), "app_user_id": .string(customer.id)]))
        } else {
            context.terminal.print(Terminal.harmless("note \(number) of \(customer.id) is removed"))
        }
        return 0
    }
}
