import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled notifications reprocess`.
struct NotificationReprocessCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "reprocess", "Apply a notification again, or release a held one.",
        discussion:
            "Applying a notification that was applied before changes nothing and sends nothing. \(ChangeOptions.help)",
        examples: ["notifications reprocess 002e14d5-51f5-4503-b5a8-c3a1af68eb20"])

    @OptionGroup private var target: NotificationArgument

    @OptionGroup private var change: ChangeOptions

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            return try change.ask(remote, try target.path(of: remote) + ["reprocess"], context)
        }
        try change.checkLocal()
        let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
        let outcome = try NotificationRepair.reprocess(
            uuid: target.uuid, app: target.app, environment: target.environment, on: connection)
        switch outcome {
        case .notFound: throw target.notFound
        case .ambiguous(let places): throw target.ambiguous(places)
        case .dropped(let received): throw target.dropped(received)
        case .queued: break
        }
        if context.json {
            context.terminal.document(.object(["uuid": .string(target.uuid), "state": .string("pending")]))
        } else {
            context.terminal.print("\(target.uuid) is pending and will be applied again")
        }
        return 0
    }
}
