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

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? parsed.text("FROM-ID") ?? ""
            other = parsed.text("OTHER-ID") ?? parsed.text("TO-ID") ?? ""
            purchases = parsed.texts("--purchase")
            reason = parsed.text("--reason")
        }
    }

    package static let list = CommandDeclaration(
        "list", "Lists customers, the newest first.", options: [ListLimit.option],
        examples: ["customers list", "customers list --limit 1000 --json"])

    package static let alias = CommandDeclaration(
        "alias", "Makes one customer of two, or gives a customer another id.",
        discussion:
            "Purchases, history and attributes are seen alike from any of the ids. It cannot be undone. Doing it again"
            + " changes nothing.",
        arguments: [
            ArgumentDeclaration(.text("ID"), "An app user id of the customer."),
            ArgumentDeclaration(.text("OTHER-ID"), "Another customer's app user id, or one that nobody has."),
        ],
        options: [reason], examples: ["customers alias '$RCAnonymousID:0123…' user-42 --reason 'ticket 77'"])

    package static let transfer = CommandDeclaration(
        "transfer", "Moves purchases from one customer to another.",
        discussion:
            "What was granted stays where it is. Consumers get a TRANSFER event. It outranks what Apple signed: the purchases stay with the new owner,"
            + " whatever app account token comes later.",
        arguments: [
            ArgumentDeclaration(.text("FROM-ID"), "An app user id of who has them."),
            ArgumentDeclaration(.text("TO-ID"), "The app user id of who gets them; made if nobody has it."),
        ],
        options: [
            OptionDeclaration(
                "--purchase", .text("ORIGINAL-TRANSACTION-ID"), isRepeatable: true,
                "Only this purchase; without it all of them."),
            reason,
        ],
        examples: [
            "customers transfer user-41 user-42", "customers transfer user-41 user-42 --purchase 2000000123456789",
        ])

    static let reason = OptionDeclaration("--reason", .text("TEXT"), "Why; kept in the log.")
}
