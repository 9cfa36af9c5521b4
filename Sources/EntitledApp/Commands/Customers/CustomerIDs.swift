import CLI

/// How commands declare ids of customers: all take them in the same way (`CustomerArgument`).
enum CustomerIDs {
    /// For commands that only read.
    static let any = ArgumentDeclaration(
        .text("ANY-ID"),
        "An app user id, an alias, a transaction id or original transaction id, a web order line item id, or an app account"
            + " token. In another case it is accepted if it names one customer only, and the output says so.")

    /// For commands that change something.
    ///
    /// - Parameter summary: without the full stop.
    static func argument(_ name: String, _ summary: String) -> ArgumentDeclaration {
        ArgumentDeclaration(.text(name), "\(summary). Its case counts, unless it is a UUID.")
    }

    static let create = OptionDeclaration(
        "--create",
        "Accept an id that no customer has, even if one differs only in case. Without it such an id is rejected.")

    static let reason = OptionDeclaration("--reason", .text("TEXT"), "Reason, stored in the log.")
}
