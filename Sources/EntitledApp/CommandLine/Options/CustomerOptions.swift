/// What `entitled customers show` takes.
package struct CustomerOptions: Sendable, Equatable {
    package let anyID: String

    package init(_ parsed: ParsedArguments) {
        anyID = parsed.text("ANY-ID") ?? ""
    }

    package static let declaration = CommandDeclaration(
        "show", "Shows a subscriber: entitlements, subscriptions, purchases.",
        arguments: [
            ArgumentDeclaration(
                .text("ANY-ID"),
                "An app user id, an alias, a transaction id or original transaction id, a web order line item id, or an app"
                    + " account token.")
        ],
        examples: [
            "customers show user-42", "customers show '$RCAnonymousID:0123…' --json", "customers show 2000000123456789",
        ])
}
