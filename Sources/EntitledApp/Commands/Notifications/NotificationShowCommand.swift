import Base
import CLI
import Database
import Operator
import Postgres
import Schemas

/// `entitled notifications show`.
struct NotificationShowCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "show", "Show a notification and its signed payload.",
        examples: [
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20",
            "notifications show 002e14d5-51f5-4503-b5a8-c3a1af68eb20 --raw | entitled verify -",
        ])

    @OptionGroup var target: NotificationArgument
    @Flag("--raw", "Print only what Apple signed, byte for byte and without a line end.") var isRaw: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            try show(try remote.get(try target.path(of: remote), []), context)
            return 0
        }
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
            try showRaw(whole.signedPayload, gap: whole.gap, context)
        } else if context.json {
            let payload = JSON.Member(name: "payload", value: whole.gap == nil ? .raw(whole.payload) : .null)
            context.terminal.document(.object(whole.summary.members + [payload]))
        } else {
            let page = NotificationText(whole.summary.json, payload: whole.payload, gap: whole.gap, context.terminal)
            context.terminal.record(page.text)
        }
        return 0
    }

    /// What the operator API answers.
    private func show(_ bytes: [UInt8], _ context: CommandContext) throws {
        let answer = try JSON(ordered: bytes, verbatim: ["payload"])
        let isHidden = answer["payload"] == .null && answer["gap"] == .null
        let gap = isHidden ? "the role of the key does not see what Apple signed" : answer["gap"]?.stringValue
        if isRaw {
            try showRaw(Array(answer.cell("signed_payload").utf8), gap: gap, context)
        } else if context.json {
            context.terminal.document(answer.without(["gap", "signed_payload"]))
        } else {
            let page = NotificationText(answer, payload: answer["payload"]?.bytes ?? [], gap: gap, context.terminal)
            context.terminal.record(page.text)
        }
    }

    /// What Apple signed and nothing else, without a line end: a program reads it.
    private func showRaw(_ signedPayload: [UInt8], gap: String?, _ context: CommandContext) throws {
        if let gap { throw CommandFailure(gap) }
        guard !signedPayload.isEmpty else {
            throw CommandFailure("it is a status answer, of which Apple signed only parts: leave out --raw")
        }
        if context.json {
            context.terminal.document(
                .object(["signedPayload": .string(String(decoding: signedPayload, as: UTF8.self))]))
        } else {
            context.terminal.write(signedPayload)
        }
    }
}
