import AppStoreAPI
import Base
import CLI

/// What the commands of `entitled apple` take.
package enum AppleOptions {
    /// Which app is asked, and where.
    package struct Target: Sendable, Equatable {
        package let app: String?
        package let environment: StoreEnvironment?

        package init(_ parsed: ParsedArguments) {
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
        }
    }

    /// What an extension takes.
    package struct Extension: Sendable, Equatable {
        package let days: Int64?
        package let reason: RenewalExtension.Reason?
        package let requestIdentifier: String?
        package let isConfirmed: Bool

        package init(_ parsed: ParsedArguments) {
            days = parsed.integer("--days")
            let word = parsed.text("--reason")
            reason = RenewalExtension.Reason.allCases.first { $0.word == word }
            requestIdentifier = parsed.text("--request-id")
            isConfirmed = parsed.has("--yes")
        }
    }

    private static let target = [
        OptionDeclaration("--app", .text("ID"), "Of this app; needed where several have a key of the Server API."),
        OptionDeclaration(
            "--environment", .environment, "Only there; without it Production, then, for a look-up, Sandbox."),
    ]
    private static let days = OptionDeclaration(
        "--days", .integer(1...RenewalExtension.longest, "N"), "How many days are given.")
    private static let reason = OptionDeclaration(
        "--reason", .choice(RenewalExtension.Reason.allCases.map(\.word), "REASON"), "Why, for Apple.")
    private static let request = OptionDeclaration(
        "--request-id", .text("ID"), "Your own name for it; without it one is made.")
    private static let yes = OptionDeclaration("--yes", "Do it without asking.")
    private static let anyID = ArgumentDeclaration(
        .text("ID"), "Any transaction id, original transaction id or app transaction id of the customer.")
    private static let shownOnly = "What Apple answers is verified and shown; records do not change by it."

    package static let order = CommandDeclaration(
        "order", "Shows the purchases of an order, by the id in the customer's receipt.", discussion: shownOnly,
        arguments: [ArgumentDeclaration(.text("ORDER-ID"), "As in the mail from Apple, such as MVX2K4T8RM.")],
        options: target, examples: ["apple order MVX2K4T8RM"])
    package static let status = CommandDeclaration(
        "status", "Shows all subscriptions of a customer as Apple sees them now.", discussion: shownOnly,
        arguments: [anyID], options: target,
        examples: ["apple status 2000000123456789", "apple status 2000000123456789 --environment Sandbox --json"])
    package static let refunds = CommandDeclaration(
        "refunds", "Shows all refunds of a customer, the oldest first.", discussion: shownOnly, arguments: [anyID],
        options: target, examples: ["apple refunds 2000000123456789"])
    package static let transactions = CommandDeclaration(
        "transactions", "Shows all purchases of a customer, those first that changed last.", discussion: shownOnly,
        arguments: [anyID], options: target, examples: ["apple transactions 2000000123456789"])
    package static let extend = CommandDeclaration(
        "extend", "Gives one subscriber some days for nothing.",
        discussion:
            "Apple allows it twice a year for a customer, and nobody can take it back. Apple tells it by a RENEWAL_EXTENDED"
            + " notification, which changes the record.",
        arguments: [ArgumentDeclaration(.text("ID"), "A transaction id of the subscription.")],
        options: target + [days, reason, request, yes],
        examples: ["apple extend 2000000123456789 --days 7 --reason outage"])
    package static let extendAll = CommandDeclaration(
        "extend-all", "Gives all active subscribers of a product some days for nothing.",
        discussion:
            "Apple takes hours or days for it, tells each extension by a notification, and nobody can take it back. The"
            + " same request id again does nothing.",
        arguments: [ArgumentDeclaration(.text("PRODUCT-ID"), "The product.")],
        options: target + [
            days, reason, request,
            OptionDeclaration(
                "--storefront", .text("CODE"), isRepeatable: true,
                "Only in this country, as three letters such as USA; without it everywhere."),
            OptionDeclaration("--status", .text("REQUEST-ID"), "Only show how far that request is."), yes,
        ],
        examples: [
            "apple extend-all pro_monthly --days 3 --reason outage",
            "apple extend-all pro_monthly --status 1bd4b1f9-7c1d-4a0f-9d36-1b0c0c2f9a11",
        ])
    package static let testNotification = CommandDeclaration(
        "test-notification", "Has Apple send a test notification, and waits for it.",
        discussion:
            "Shows each attempt of Apple's with its result, and whether the notification is in the database. Exit status 1"
            + " where it did not arrive in time.",
        options: target + [
            OptionDeclaration(
                "--timeout", .integer(1...600, "SECONDS"), "How long to wait; 60 seconds without it.")
        ],
        examples: ["apple test-notification", "apple test-notification --environment Sandbox"])

    package static let declarations = [
        order, status, refunds, transactions, extend, extendAll, testNotification,
    ]
}
