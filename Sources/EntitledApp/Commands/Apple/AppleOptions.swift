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
        OptionDeclaration("--app", .text("ID"), "Query as this app; required if several apps have a Server API key."),
        OptionDeclaration(
            "--environment", .environment,
            "Query only this environment; default: Production, then Sandbox for look-ups."),
    ]
    private static let days = OptionDeclaration(
        "--days", .integer(1...RenewalExtension.longest, "N"), "Number of days.")
    private static let reason = OptionDeclaration(
        "--reason", .choice(RenewalExtension.Reason.allCases.map(\.word), "REASON"), "Reason to give to Apple.")
    private static let request = OptionDeclaration(
        "--request-id", .text("ID"), "Your identifier of the request; default: a new UUID.")
    private static let yes = OptionDeclaration("--yes", "Do not ask for confirmation.")
    private static let anyID = ArgumentDeclaration(
        .text("ID"), "Any transaction id, original transaction id or app transaction id of the customer.")
    private static let shownOnly = "Apple's answer is verified and shown; records do not change."

    package static let order = CommandDeclaration(
        "order", "Look up an order by the id in the customer's receipt.", discussion: shownOnly,
        arguments: [ArgumentDeclaration(.text("ORDER-ID"), "Order id from Apple's mail, such as MVX2K4T8RM.")],
        options: target, examples: ["apple order MVX2K4T8RM"])
    package static let status = CommandDeclaration(
        "status", "Show the current status of a customer's subscriptions at Apple.", discussion: shownOnly,
        arguments: [anyID], options: target,
        examples: ["apple status 2000000123456789", "apple status 2000000123456789 --environment Sandbox --json"])
    package static let refunds = CommandDeclaration(
        "refunds", "Show a customer's refunds, oldest first.", discussion: shownOnly, arguments: [anyID],
        options: target, examples: ["apple refunds 2000000123456789"])
    package static let transactions = CommandDeclaration(
        "transactions", "Show a customer's transactions, most recently changed first.", discussion: shownOnly,
        arguments: [anyID], options: target, examples: ["apple transactions 2000000123456789"])
    package static let extend = CommandDeclaration(
        "extend", "Extend the renewal date of one subscription.",
        discussion:
            "Apple allows two extensions a year for each customer; an extension cannot be undone. Apple reports it by a"
            + " RENEWAL_EXTENDED notification, which changes the record.",
        arguments: [ArgumentDeclaration(.text("ID"), "Any transaction id of the subscription.")],
        options: target + [days, reason, request, yes],
        examples: ["apple extend 2000000123456789 --days 7 --reason outage"])
    package static let extendAll = CommandDeclaration(
        "extend-all", "Extend the renewal date for all active subscribers of a product.",
        discussion:
            "Apple takes hours or days, reports each extension by a notification, and cannot undo it. Repeating a request"
            + " id does nothing.",
        arguments: [ArgumentDeclaration(.text("PRODUCT-ID"), "The product.")],
        options: target + [
            days, reason, request,
            OptionDeclaration(
                "--storefront", .text("CODE"), isRepeatable: true,
                "Extend only in this storefront, such as USA; default: everywhere."),
            OptionDeclaration("--status", .text("REQUEST-ID"), "Show the progress of this request instead."), yes,
        ],
        examples: [
            "apple extend-all pro_monthly --days 3 --reason outage",
            "apple extend-all pro_monthly --status 1bd4b1f9-7c1d-4a0f-9d36-1b0c0c2f9a11",
        ])
    package static let testNotification = CommandDeclaration(
        "test-notification", "Request a test notification from Apple and wait for it.",
        discussion:
            "Shows each attempt of Apple's with its result, and whether the notification is in the database. Exit status 1"
            + " where it did not arrive in time.",
        options: target + [
            OptionDeclaration(
                "--timeout", .integer(1...600, "SECONDS"), "Seconds to wait; default: 60.")
        ],
        examples: ["apple test-notification", "apple test-notification --environment Sandbox"])

    package static let declarations = [
        order, status, refunds, transactions, extend, extendAll, testNotification,
    ]
}
