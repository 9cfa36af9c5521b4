import CLI
import Subscriptions

/// What the commands take that do something with customers.
package enum CustomerActionOptions {
    /// `customers list`.
    package struct List: Sendable, Equatable {
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    /// `customers alias` and `transfer`.
    package struct Action: Sendable, Equatable {
        package let id: String
        /// The other customer; empty where there is none.
        package let other: String
        /// Original transaction ids; empty: all.
        package let purchases: [String]
        package let reason: String?
        /// Whether the other id may be one that no customer has.
        package let mayCreate: Bool

        package init(_ parsed: ParsedArguments) {
            mayCreate = parsed.has(CustomerIDs.create.name)
            id = parsed.text("ID") ?? parsed.text("FROM-ID") ?? ""
            other = parsed.text("OTHER-ID") ?? parsed.text("TO-ID") ?? ""
            purchases = parsed.texts("--purchase")
            reason = parsed.text("--reason")
        }
    }

    package static let list = CommandDeclaration(
        "list", "List customers, newest first.", options: [ListLimit.option],
        examples: ["customers list", "customers list --limit 1000 --json"])

    package static let alias = CommandDeclaration(
        "alias", "Merge two customers, or add an id to a customer.",
        discussion:
            "Purchases, history and attributes are seen alike from any of the ids. It cannot be undone. Doing it again"
            + " changes nothing.",
        arguments: [
            CustomerIDs.argument("ID", "An app user id of the customer"),
            CustomerIDs.argument(
                "OTHER-ID", "Another customer's app user id; with --create one that no customer has"),
        ],
        options: [CustomerIDs.create, reason, Confirmation.option],
        examples: [
            "customers alias '$RCAnonymousID:0123…' user-42 --reason 'ticket 77'",
            "customers alias user-42 user-42-of-the-web --create",
        ])

    package static let transfer = CommandDeclaration(
        "transfer", "Transfer purchases from one customer to another.",
        discussion:
            "What was granted stays where it is. Consumers get a TRANSFER event. It outranks what Apple signed: the purchases stay with the new owner,"
            + " whatever app account token comes later.",
        arguments: [
            CustomerIDs.argument("FROM-ID", "An app user id of the customer who has them"),
            CustomerIDs.argument(
                "TO-ID", "An app user id of the customer who gets them; with --create one that no customer has"),
        ],
        options: [
            OptionDeclaration(
                "--purchase", .text("ORIGINAL-TRANSACTION-ID"), isRepeatable: true,
                "Transfer only this purchase; default: all."),
            CustomerIDs.create, reason, Confirmation.option,
        ],
        examples: [
            "customers transfer user-41 user-42", "customers transfer user-41 user-42 --purchase 2000000123456789",
        ])

    /// `customers restore-behavior`.
    package struct RestoreSetting: Sendable, Equatable {
        package let id: String
        /// Nil: what the configuration says.
        package let behavior: RestoreBehavior?
        package let reason: String?

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
            behavior = parsed.text("VALUE").flatMap(RestoreBehavior.init(rawValue:))
            reason = parsed.text("--reason")
        }

        /// Takes back what was set.
        package static let standard = "default"
    }

    package static let restoreBehavior = CommandDeclaration(
        "restore-behavior", "Set what happens when another customer restores this customer's purchases.",
        discussion:
            "It counts for what this customer owns, in place of restore_behavior in the configuration; default takes it"
            + " back. Where customers become one, what was said last counts.",
        arguments: [
            CustomerIDs.argument("ID", "An app user id of the customer"),
            ArgumentDeclaration(
                .choice(RestoreBehavior.allCases.map(\.rawValue) + [RestoreSetting.standard], "VALUE"),
                "What counts from now on."),
        ],
        options: [reason],
        examples: [
            "customers restore-behavior user-42 error --reason 'shares the account'",
            "customers restore-behavior user-42 default",
        ])

    static let reason = OptionDeclaration("--reason", .text("TEXT"), "Reason, stored in the log.")
}
