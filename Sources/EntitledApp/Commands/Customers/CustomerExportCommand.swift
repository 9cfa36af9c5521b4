import Base
import CLI
import Customers
import Database
import Foundation
import Postgres
import Schemas
import Subscriptions

/// `entitled customers export`.
struct CustomerExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "export", "Export all stored data of a customer as one JSON document.",
        discussion:
            "It includes the data that Apple signed, which can be verified, and each webhook with its answer. Only"
            + " the owner of the file can read it.",
        examples: ["customers export user-42 --output user-42.json"])

    @Argument(CustomerIDs.any) private var anyID: String
    @Option("--output", .file, "File to write; default: standard output.") private var output: String?

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let customer = try CustomerArgument(anyID, for: .reading, on: connection)
        let now = SystemClock().now()
        guard let output else {
            let isKnown = try CustomerExport().write(of: customer.id, now: now, on: connection) {
                context.terminal.write($0)
            }
            guard isKnown else { throw unknown }
            // Standard output has the document.
            if let note = customer.note { context.terminal.complain(note) }
            return 0
        }
        var written = 0
        var file: FileHandle?
        defer { try? file?.close() }
        // Only once there is something: who is not known leaves a file alone.
        let isKnown = try CustomerExport().write(of: customer.id, now: now, on: connection) { bytes in
            let open = try file ?? CustomerExportCommand.create(output)
            file = open
            try open.write(contentsOf: Data(bytes))
            written += bytes.count
        }
        guard isKnown else { throw unknown }
        try file?.synchronize()
        if context.json {
            context.terminal.document(
                JSON.object(["file": .string(output), "bytes": .int(Int64(written))]).naming([customer]))
        } else {
            [customer].tell(context.terminal)
            context.terminal.print("\(written) bytes in \(output)")
        }
        return 0
    }

    private var unknown: CommandFailure { CommandFailure("no customer has the id \(anyID)") }

    /// For its owner alone. What is there already is not written over: it may be readable by others.
    static func create(_ path: String) throws -> FileHandle {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure("cannot write \(path): \(String(cString: strerror(errno)))")
        }
        return FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    }
}
