import AppStoreAPI
import Base
import CLI
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled refunds answer`.
struct RefundAnswerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "answer", "Answer a consumption request; a worker sends the answer to Apple.",
        discussion:
            "Apple accepts one answer within 12 hours of its request, and only with the customer's consent. An answer that a"
            + " worker has begun to send cannot be changed.",
        examples: [
            "refunds answer 2000000123456789 --consent --preference decline --consumed 80",
            "refunds answer 2000000123456789 --consent --delivery server_outage --preference grant_full",
        ])

    private static let preferences: [String: ConsumptionInformation.Preference] = [
        "decline": .decline, "grant_full": .grantFull, "grant_prorated": .grantProrated,
    ]
    private static let deliveries: [String: ConsumptionInformation.Delivery] = [
        "delivered": .delivered, "quality_issue": .qualityIssue, "wrong_item": .wrongItem,
        "server_outage": .serverOutage, "other": .other,
    ]

    @Argument(.text("TRANSACTION-ID"), "The transaction id, as `refunds list` shows it.") private var transactionID:
        String
    @Flag("--consent", "The customer consented to share this with Apple; required.") private var isConsented: Bool
    @Option("--preference", .choice(preferences.keys.sorted(), "PREFERENCE"), "Decision that you prefer.")
    private var preference: String?
    @Option("--consumed", .integer(0...100, "PERCENT"), "Percentage that was used; not for subscriptions that renew.")
    private var consumedPercent: Int64?
    @Option(
        "--delivery", .choice(deliveries.keys.sorted(), "WORD"),
        "Delivery of the product, or why it failed; default: delivered."
    )
    private var delivery: String?
    @Flag("--sample-content", "The customer could try the content before the purchase.") private var hadSample: Bool
    @Option("--app", .text("ID"), "Select the app, if two have this id.") private var app: String?
    @Option("--environment", .environment, "Select the environment, if two have this id.")
    private var environment: StoreEnvironment?

    func validate() throws {
        guard isConsented else {
            throw UsageError("refunds answer needs --consent: Apple accepts answers only with the customer's consent")
        }
        _ = try answer()
    }

    private func answer() throws(UsageError) -> RefundAnswer {
        let delivery = RefundAnswerCommand.deliveries[delivery ?? "delivered"] ?? .delivered
        let preference = preference.flatMap { RefundAnswerCommand.preferences[$0] }
        // Apple counts thousandths of a per cent.
        let consumed = consumedPercent.map { $0 * 1000 }
        let information = ConsumptionInformation(
            customerConsented: true, delivery: delivery, sampleContentProvided: hadSample,
            consumptionPercentage: consumed, preference: preference)
        if delivery != .delivered, let consumed, consumed != 0 {
            throw UsageError("--consumed must be 0 unless the product was delivered")
        }
        if preference == .grantProrated, let consumed, !(1..<100_000).contains(consumed) {
            throw UsageError("--preference grant_prorated needs --consumed from 1 to 99")
        }
        return RefundAnswer(
            delivery: information.delivery.rawValue, sampleContentProvided: information.sampleContentProvided,
            consumed: consumed, preference: preference?.rawValue)
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let answer = try answer()
        let request = try find(on: connection)
        let id = request.key.transactionID
        guard let app = configuration.apps.first(where: { $0.id == request.key.purchase.app }),
            app.serverAPI != nil,
            app.refunds.policy != .never
        else {
            throw CommandFailure(
                "no worker answers consumption requests of the app \(request.key.purchase.app): set apps[].refunds.policy to \"ask\", and"
                    + " server_api")
        }
        let actor = ActionTable.Origin.commandLine(context.environment, reason: nil).actor
        let (now, isTaken) = try connection.transaction {
            let now = try Fence.hold([request.key.purchase.lane], on: connection)
            return (
                now,
                try RefundRequestTable.answer(request.key, answer, by: actor, now: now, on: connection)
            )
        }
        guard isTaken else { throw CommandFailure("\(id) cannot be answered any more: \(reason(request, now))") }
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

    private func reason(_ request: RefundRequest, _ now: Int64) -> String {
        if let decision = request.decision { return "Apple decided (\(decision))" }
        return now >= request.deadline ? "the 12 hours are over" : "an answer was sent, or is on its way"
    }
}
