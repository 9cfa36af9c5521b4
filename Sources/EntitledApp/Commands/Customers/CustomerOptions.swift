import CLI
import Subscriptions

/// What `entitled customers show` takes.
package struct CustomerOptions: Sendable, Equatable {
    package let anyID: String
    /// The whole history, and not only the newest of it.
    package let wantsAll: Bool
    /// How many of the newest steps are left out.
    package let skipped: Int
    /// How what happened is ordered.
    package let order: TimelineOrder

    package init(_ parsed: ParsedArguments) {
        anyID = parsed.text("ANY-ID") ?? ""
        wantsAll = parsed.has("--all")
        skipped = parsed.integer("--skip").map { Int(clamping: $0) } ?? 0
        order = parsed.has("--as-heard") ? .heard : .happened
    }

    package static let declaration = CommandDeclaration(
        "show", "Show a customer: access and its reason, purchases, timeline and webhooks.",
        discussion:
            "What happened is in the order in which Apple signed it, or in which it was done, and each step tells what it"
            + " changed in that order. With --as-heard it is in the order in which it came, and each step tells what it changed"
            + " when it came.",
        arguments: [CustomerIDs.any],
        options: [
            OptionDeclaration("--all", "Show the whole timeline instead of the newest 50 steps; JSON always has it."),
            OptionDeclaration(
                "--skip", .integer(0...1_000_000_000, "N"),
                "Of what happened, the 50 steps before the newest N; not in JSON."),
            OptionDeclaration("--as-heard", "Order the timeline by arrival."),
        ],
        examples: [
            "customers show user-42", "customers show '$RCAnonymousID:0123…' --json", "customers show 2000000123456789",
            "customers show user-42 --as-heard", "customers show user-42 --skip 50",
        ])
}
