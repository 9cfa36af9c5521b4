import Base
import CLI
import Database
import Operator
import Postgres
import Schemas

/// `entitled notifications show`.
struct NotificationShowCommand: ReadingCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a notification and its signed payload.",
        examples: [
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20 --raw | entitled verify -",
        ])

    @OptionGroup var target: NotificationArgument
    @Flag("--raw", "Print only what Apple signed, byte for byte and without a line end.") var isRaw: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        let connection = try DatabaseAccess(try context.configuration()).connect(.api)
        let known = try NotificationQuery.find(
            uuid: target.uuid, app: target.app, environment: target.environment, on: connection)
        let found = known.whole
        guard let whole = found.first else {
            if let received = known.dropped.first {
                throw target.dropped(received)
            }
            throw target.notFound
        }
        guard found.count == 1 else {
            let places = found.map { "\($0.summary.identity.app) \($0.summary.identity.environment.rawValue)" }
            throw target.ambiguous(places)
        }
        if isRaw {
            try showRaw(whole, context)
        } else if context.json {
            let payload = JSON.Member(name: "payload", value: whole.gap == nil ? .raw(whole.payload) : .null)
            context.terminal.document(.object(whole.summary.members + [payload]))
        } else {
            context.terminal.record(NotificationText(whole, context.terminal).text)
        }
        return 0
    }

    /// What Apple signed and nothing else, without a line end: a program reads it.
    private func showRaw(_ whole: NotificationQuery.Whole, _ context: CommandContext) throws {
        if let gap = whole.gap { throw CommandFailure(gap) }
        guard !whole.signedPayload.isEmpty else {
            throw CommandFailure("it is an answer that Apple gave, and signed in parts only: leave out --raw")
        }
        if context.json {
            context.terminal.document(
                .object(["signedPayload": .string(String(decoding: whole.signedPayload, as: UTF8.self))]))
        } else {
            context.terminal.write(whole.signedPayload)
        }
    }
}
