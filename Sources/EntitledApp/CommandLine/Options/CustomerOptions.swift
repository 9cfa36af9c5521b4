/// What `entitled customers show` takes.
package struct CustomerOptions: Sendable, Equatable {
    package let anyID: String
    /// The whole history, and not only the newest of it.
    package let wantsAll: Bool

    package init(_ parsed: ParsedArguments) {
        anyID = parsed.text("ANY-ID") ?? ""
        wantsAll = parsed.has("--all")
    }

    package static let declaration = CommandDeclaration(
        "show", "Shows a subscriber: what they have and why, what happened, what was sent.",
        arguments: [
            ArgumentDeclaration(
                .text("ANY-ID"),
                "An app user id, an alias, a transaction id or original transaction id, a web order line item id, or an app"
                    + " account token.")
        ],
        options: [
            OptionDeclaration("--all", "Everything that happened, instead of the newest 50 steps; JSON has it always.")
        ],
        examples: [
            "customers show user-42", "customers show '$RCAnonymousID:0123…' --json", "customers show 2000000123456789",
        ])
}
