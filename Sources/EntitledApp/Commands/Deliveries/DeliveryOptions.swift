import CLI
import Database

/// What the commands of `entitled deliveries` take.
package enum DeliveryOptions {
    /// `deliveries list`.
    package struct List: Sendable, Equatable {
        package let endpoint: String?
        package let state: DeliveryState?
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            endpoint = parsed.text("--endpoint")
            state = parsed.text("--state").flatMap(DeliveryState.init(name:))
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    /// `deliveries resend`.
    package struct Resend: Sendable, Equatable {
        package let id: String
        package let asNewID: Bool

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
            asNewID = parsed.has("--as-new-id")
        }
    }

    /// `deliveries show`.
    package struct One: Sendable, Equatable {
        package let id: String

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("ID") ?? ""
        }
    }

    package static let list = CommandDeclaration(
        "list", "List deliveries, newest first.",
        options: [
            OptionDeclaration("--endpoint", .text("ID"), "Only those to this endpoint."),
            OptionDeclaration(
                "--state", .choice(DeliveryState.allCases.map(\.name), "STATE"),
                "Only those: pending is tried again, dead was given up, held waits for its endpoint."),
            ListLimit.option,
        ],
        examples: ["deliveries list --state dead", "deliveries list --endpoint ID --limit 1000 --json"])

    package static let show = one(
        "show",
        "Show a delivery and each attempt with its outcome, timing and response.")
    package static let resend = CommandDeclaration(
        "resend", "Resend a delivery's event at once, under the same id.",
        discussion:
            "A consumer that keeps the ids it has seen passes over one that it knows. With --as-new-id the event goes to"
            + " this endpoint as another one: `webhook-id` and `event.id` are new, everything else is as it was.",
        arguments: [ArgumentDeclaration(.text("ID"), "The delivery's id, as `deliveries list` shows it.")],
        options: [OptionDeclaration("--as-new-id", "As another event, for consumers that know the old id.")],
        examples: ["deliveries resend ID", "deliveries resend ID --as-new-id"])

    package static let declarations = [list, show, resend]

    private static func one(_ name: String, _ summary: String) -> CommandDeclaration {
        CommandDeclaration(
            name, summary,
            arguments: [ArgumentDeclaration(.text("ID"), "The delivery's id, as `deliveries list` shows it.")],
            examples: ["deliveries \(name) ID"])
    }
}
