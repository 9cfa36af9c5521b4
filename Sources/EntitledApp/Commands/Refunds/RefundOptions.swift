import AppStoreAPI
import Base
import CLI
import Database

/// What the commands of `entitled refunds` take.
package enum RefundOptions {
    /// `refunds list`.
    package struct List: Sendable, Equatable {
        package let isOpen: Bool
        package let app: String?
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            isOpen = parsed.has("--open")
            app = parsed.text("--app")
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    /// `refunds answer`.
    package struct Answer: Sendable, Equatable {
        package let transactionID: String
        package let app: String?
        package let environment: StoreEnvironment?
        package let answer: RefundAnswer

        package init(_ parsed: ParsedArguments) throws(UsageError) {
            transactionID = parsed.text("TRANSACTION-ID") ?? ""
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
            guard parsed.has("--consent") else {
                throw UsageError(
                    "refunds answer needs --consent: without the customer's consent Apple must not be told")
            }
            let delivery = deliveries[parsed.text("--delivery") ?? "delivered"] ?? .delivered
            let preference = parsed.text("--preference").flatMap { preferences[$0] }
            // Apple counts thousandths of a per cent.
            let consumed = parsed.integer("--consumed").map { $0 * 1000 }
            let information = ConsumptionInformation(
                customerConsented: true, delivery: delivery, sampleContentProvided: parsed.has("--sample-content"),
                consumptionPercentage: consumed, preference: preference)
            if delivery != .delivered, let consumed, consumed != 0 {
                throw UsageError("--consumed must be 0 for what was not delivered")
            }
            if preference == .grantProrated, let consumed, !(1..<100_000).contains(consumed) {
                throw UsageError("--preference grant_prorated needs --consumed from 1 to 99")
            }
            answer = RefundAnswer(
                delivery: information.delivery.rawValue, sampleContentProvided: information.sampleContentProvided,
                consumed: consumed, preference: preference?.rawValue)
        }
    }

    private static let preferences: [String: ConsumptionInformation.Preference] = [
        "decline": .decline, "grant_full": .grantFull, "grant_prorated": .grantProrated,
    ]
    private static let deliveries: [String: ConsumptionInformation.Delivery] = [
        "delivered": .delivered, "quality_issue": .qualityIssue, "wrong_item": .wrongItem,
        "server_outage": .serverOutage, "other": .other,
    ]

    package static let list = CommandDeclaration(
        "list", "List consumption requests and their answers, newest first.",
        options: [
            OptionDeclaration("--open", "Only those that an answer still matters to."),
            OptionDeclaration("--app", .text("ID"), "Only those of this app."), ListLimit.option,
        ],
        examples: ["refunds list --open", "refunds list --app demo --json"])

    package static let answer = CommandDeclaration(
        "answer", "Answer a consumption request; a worker sends the answer to Apple.",
        discussion:
            "Apple takes one answer within 12 hours of its question, and only with the customer's consent. What a worker"
            + " has begun to send cannot be changed any more.",
        arguments: [ArgumentDeclaration(.text("TRANSACTION-ID"), "As `refunds list` shows it.")],
        options: [
            OptionDeclaration("--consent", "The customer agreed that Apple is told. Without it nothing is."),
            OptionDeclaration(
                "--preference", .choice(preferences.keys.sorted(), "PREFERENCE"), "What you would like Apple to do."),
            OptionDeclaration(
                "--consumed", .integer(0...100, "PERCENT"),
                "How much of it was used; not for subscriptions that renew."),
            OptionDeclaration(
                "--delivery", .choice(deliveries.keys.sorted(), "WORD"),
                "Whether it was delivered, or why not; else delivered."),
            OptionDeclaration("--sample-content", "The customer could try it before."),
            OptionDeclaration("--app", .text("ID"), "Of this app, where the id is in two."),
            OptionDeclaration("--environment", .environment, "Of this environment, where the id is in two."),
        ],
        examples: [
            "refunds answer 2000000123456789 --consent --preference decline --consumed 80",
            "refunds answer 2000000123456789 --consent --delivery server_outage --preference grant_full",
        ])

    package static let declarations = [list, answer]
}
