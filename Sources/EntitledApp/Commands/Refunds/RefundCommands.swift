import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled refunds …`: what Apple asks before it decides on a refund.
enum RefundCommands {
    struct List: Command {
        static let declaration = RefundOptions.list
        private let options: RefundOptions.List

        init(_ parsed: ParsedArguments) {
            options = RefundOptions.List(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let now = SystemClock().now()
            let found = try RefundRequestTable.list(
                app: options.app, openAt: options.isOpen ? now : nil, atMost: options.limit, on: connection)
            if context.json {
                context.terminal.document(
                    .object(["refunds": .array(found.map { $0.request.document(owner: $0.owner, now: now) })]))
                return 0
            }
            guard !found.isEmpty else {
                context.terminal.print(
                    options.isOpen ? "Apple waits for no answer" : "Apple has asked no question about a refund")
                return 0
            }
            var table = TextTable([
                .time("asked"), .key("transaction"), "product", .prose("reason"), .id("app user id"), .time("until"),
                .prose("answer"), "decision", "where",
            ])
            for (request, owner) in found {
                table.add([
                    Timestamp.text(request.asked), request.key.transactionID, request.productID,
                    request.reasons.joined(separator: ", "), owner ?? "",
                    request.left(at: now, isOnScreen: context.terminal.screen != nil), request.outcome,
                    request.decision ?? "",
                    "\(request.key.purchase.app), \(request.key.purchase.environment.rawValue)",
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Answer: Command {
        static let declaration = RefundOptions.answer
        private let options: RefundOptions.Answer

        init(_ parsed: ParsedArguments) throws {
            options = try RefundOptions.Answer(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let request = try find(on: connection)
            let id = request.key.transactionID
            guard let app = configuration.apps.first(where: { $0.id == request.key.purchase.app }),
                app.serverAPI != nil,
                app.refunds.policy != .never
            else {
                throw CommandFailure(
                    "no worker answers for the app \(request.key.purchase.app): set apps[].refunds.policy to \"ask\", and"
                        + " server_api")
            }
            let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
            let (now, isTaken) = try connection.transaction {
                let now = try Fence.hold([request.key.purchase.lane], on: connection)
                return (
                    now,
                    try RefundRequestTable.answer(request.key, options.answer, by: actor, now: now, on: connection)
                )
            }
            guard isTaken else { throw CommandFailure("\(id) cannot be answered any more: \(reason(request, now))") }
            if context.json {
                context.terminal.document(
                    .object(["transaction_id": .string(id), "state": .string("ready"), "answer": options.answer.json]))
            } else {
                context.terminal.print("a worker sends the answer about \(Terminal.harmless(id)) to Apple now")
            }
            return 0
        }

        private func find(on connection: PostgresConnection) throws -> RefundRequest {
            let found = try RefundRequestTable.list(
                app: options.app, transactionID: options.transactionID, atMost: 10, on: connection
            ).map(\.request).filter {
                options.environment == nil || $0.key.purchase.environment == options.environment
            }
            guard let request = found.first else {
                throw CommandFailure("Apple has asked no question about the transaction \(options.transactionID)")
            }
            guard found.count == 1 else {
                let places = found.map { "\($0.key.purchase.app), \($0.key.purchase.environment.rawValue)" }
                throw CommandFailure(
                    "\(options.transactionID) is in \(places.joined(separator: " and in ")): say which with --app and"
                        + " --environment")
            }
            return request
        }

        private func reason(_ request: RefundRequest, _ now: Int64) -> String {
            if let decision = request.decision { return "Apple decided (\(decision))" }
            return now >= request.deadline ? "the 12 hours are over" : "an answer was sent, or is on its way"
        }
    }
}

extension RefundRequest {
    /// How long there is to answer; empty where it does not matter any more.
    ///
    /// - Parameter isOnScreen: a table on a screen adds how far away it is.
    fileprivate func left(at now: Int64, isOnScreen: Bool) -> String {
        guard isOpen(at: now) else { return "" }
        let time = Timestamp.text(deadline)
        return isOnScreen ? time : "\(time), in \(RelativeTime.text(deadline - now))"
    }

    fileprivate var outcome: String {
        switch state {
        case .open: ""
        case .ready: failure == nil ? "to be sent" : "to be sent again: \(failure ?? "")"
        case .sending: "on its way"
        case .sent: "sent: \(answer?.preference ?? "no preference") (\(answeredBy ?? ""))"
        case .failed: "not taken: \(failure ?? "")"
        }
    }

    fileprivate func document(owner: String?, now: Int64) -> JSON {
        .object([
            "transaction_id": .string(key.transactionID),
            "original_transaction_id": .string(key.purchase.originalTransactionID), "app": .string(key.purchase.app),
            "environment": .string(key.purchase.environment.rawValue), "app_user_id": .text(owner),
            "product_id": .string(productID), "reasons": .strings(reasons), "repeats": .int(repeats),
            "asked_at": .date(asked), "deadline": .date(deadline), "open": .bool(isOpen(at: now)),
            "decision": .text(decision), "decided_at": .date(decided), "state": .string(state.rawValue),
            "answer": answer?.json ?? .null, "answered_by": .text(answeredBy), "answered_at": .date(answered),
            "attempts": .int(attempts), "failure": .text(failure),
        ])
    }
}
