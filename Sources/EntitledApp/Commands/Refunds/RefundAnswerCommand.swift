import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled refunds answer`.
struct RefundAnswerCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "answer", "Answer a consumption request; a worker sends the answer to Apple.",
        discussion:
            "Apple accepts one answer within 12 hours of its request, and only with the customer's consent. An answer that a"
            + " worker has begun to send cannot be changed. \(ChangeOptions.help)",
        examples: [
            "refunds answer 2000000123456789 --consent --preference decline --consumed 80",
            "refunds answer 2000000123456789 --consent --delivery server_outage --preference grant_full",
        ])

    @Argument(.text("TRANSACTION-ID"), "The transaction id, as `refunds list` shows it.") private var transactionID:
        String
    @Flag("--consent", "The customer consented to share this with Apple; required.") private var isConsented: Bool
    @Option(
        "--preference", .choice(RefundAnswerForm.preferences.keys.sorted(), "PREFERENCE"), "Decision that you prefer.")
    private var preference: String?
    @Option("--consumed", .integer(0...100, "PERCENT"), "Percentage that was used; not for subscriptions that renew.")
    private var consumedPercent: Int64?
    @Option(
        "--delivery", .choice(RefundAnswerForm.deliveries.keys.sorted(), "WORD"),
        "Delivery of the product, or why it failed; default: delivered."
    )
    private var delivery: String?
    @Flag("--sample-content", "The customer could try the content before the purchase.") private var hadSample: Bool
    @Option("--app", .text("ID"), "Select the app, if two have this id.") private var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this id.")
    private var environment: StoreEnvironment?
    @OptionGroup private var change: ChangeOptions

    func validate() throws {
        guard isConsented else {
            throw UsageError("refunds answer needs --consent: Apple accepts answers only with the customer's consent")
        }
        _ = try answer()
    }

    private func answer() throws(UsageError) -> RefundAnswer {
        let form = RefundAnswerForm(
            preference: preference, delivery: delivery, hadSample: hadSample, consumed: consumedPercent)
        do throws(RefundAnswerForm.Flaw) {
            return try form.answer()
        } catch .usedUndelivered {
            throw UsageError("--consumed must be 0 unless the product was delivered")
        } catch .proratedWhole {
            throw UsageError("--preference grant_prorated needs --consumed from 1 to 99")
        } catch {
            throw UsageError("the answer has a word that Apple does not know")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote {
            return try change.ask(
                remote, ["refunds", transactionID, "answer"], context,
                [
                    "consent": .bool(true), "preference": preference.map { .string($0) },
                    "delivery": delivery.map { .string($0) }, "consumed": consumedPercent.map { .int($0) },
                    "sample_content": hadSample ? .bool(true) : nil, "app": app.map { .string($0) },
                    "environment": environment.map { .string($0.rawValue) },
                ])
        }
        try change.checkLocal()
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let answer = try answer()
        let request = try find(on: connection)
        let id = request.key.transactionID
        guard configuration.refundApps.contains(request.key.purchase.app) else {
            throw CommandFailure(
                "no worker answers consumption requests of the app \(request.key.purchase.app): set apps[].refunds.policy to \"ask\", and"
                    + " server_api")
        }
        let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
        if let objection = try RefundRequestTable.answer(request, answer, by: actor, on: connection) {
            throw CommandFailure("\(id) cannot be answered any more: \(objection)")
        }
        if context.json {
            context.terminal.document(
                .object(["transaction_id": .string(id), "state": .string("ready"), "answer": answer.json]))
        } else {
            context.terminal.print("a worker sends the answer about \(Terminal.harmless(id)) to Apple now")
        }
        return 0
    }

    private func find(on connection: PostgresConnection) throws -> RefundRequest {
        let found = try RefundRequestTable.list(
            app: app, transactionID: transactionID, atMost: 10, on: connection
        ).map(\.request).filter {
            environment == nil || $0.key.purchase.environment == environment
        }
        guard let request = found.first else {
            throw CommandFailure("Apple sent no consumption request about the transaction \(transactionID)")
        }
        guard found.count == 1 else {
            let places = found.map { "\($0.key.purchase.app), \($0.key.purchase.environment.rawValue)" }
            throw CommandFailure(
                "\(transactionID) is in \(places.joined(separator: " and in ")): say which with --app and"
                    + " --environment")
        }
        return request
    }
}
