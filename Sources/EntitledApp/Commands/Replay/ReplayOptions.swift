import CLI
import Duties

/// What the commands of `entitled replay` take.
package enum ReplayOptions {
    /// `replay webhooks`.
    package struct Webhooks: Sendable, Equatable {
        package let endpoint: String
        package let mode: WebhookReplay.Mode
        package let since: TimeArgument
        /// Nil: up to now.
        package let until: TimeArgument?
        /// Types of events; empty: all.
        package let events: [String]
        /// Deliveries each second.
        package let rate: Int?
        package let isDry: Bool

        package init(_ parsed: ParsedArguments) throws {
            let modes = WebhookReplay.Mode.allCases.filter { parsed.has("--\($0.rawValue)") }
            guard modes.count <= 1 else {
                throw UsageError("\(modes.map { "--\($0.rawValue)" }.joined(separator: " and ")) exclude each other")
            }
            guard let endpoint = parsed.text("--endpoint") else {
                throw UsageError("entitled replay webhooks needs --endpoint ID; see entitled replay webhooks --help")
            }
            guard let since = parsed.moment("--since") else {
                throw UsageError("entitled replay webhooks needs --since TIME; see entitled replay webhooks --help")
            }
            self.endpoint = endpoint
            self.since = since
            mode = modes.first ?? .failed
            until = parsed.moment("--until")
            events = parsed.texts("--event")
            rate = parsed.integer("--rate").map { Int(clamping: $0) }
            isDry = parsed.has("--dry-run")
        }
    }

    /// `replay show` and `replay cancel`.
    package struct One: Sendable, Equatable {
        package let id: Int64

        package init(_ parsed: ParsedArguments) {
            id = parsed.integer("ID") ?? 0
        }
    }

    package static let webhooks = CommandDeclaration(
        "webhooks", "Resend events to an endpoint.",
        discussion:
            "It is a job in the database that this command drives and shows. When the command is ended, a worker goes on"
            + " with it; the same command line shows it again, and goes on with one that failed. Events that happen now go"
            + " first. They keep their ids, so a consumer that deduplicates takes each once.",
        options: [
            OptionDeclaration(
                "--endpoint", .text("ID"), isRequired: true, "The endpoint, as `endpoints list` shows it."),
            OptionDeclaration("--since", .moment, isRequired: true, "Start of the period, inclusive."),
            OptionDeclaration("--until", .moment, "End of the period; default: now."),
            OptionDeclaration("--failed", "Dead deliveries only (default)."),
            OptionDeclaration("--missing", "Events that match the endpoint's filters and have no delivery."),
            OptionDeclaration("--all", "All events that match the endpoint's filters, delivered or not."),
            OptionDeclaration("--event", .text("TYPE"), isRepeatable: true, "Limit to this event type."),
            OptionDeclaration("--rate", .integer(1...10_000, "N"), "Maximum deliveries per second."),
            OptionDeclaration("--dry-run", "Count only; send nothing."),
        ],
        examples: [
            "replay webhooks --endpoint ID --since 24h --dry-run", "replay webhooks --endpoint ID --since 24h",
            "replay webhooks --endpoint ID --since 2026-11-01T00:00:00Z --missing --rate 50",
        ])

    package static let list = CommandDeclaration(
        "list", "List replays, newest first.", options: [ListLimit.option], examples: ["replay list"])
    package static let show = one("show", "Show a replay's progress.")
    package static let cancel = one("cancel", "Cancel a replay; queued deliveries are still sent.")

    package static let declarations = [history, webhooks, list, show, cancel]

    private static func one(_ name: String, _ summary: String) -> CommandDeclaration {
        CommandDeclaration(
            name, summary,
            arguments: [ArgumentDeclaration(.integer(1...Int64.max, "ID"), "Replay number from `replay list`.")],
            examples: ["replay \(name) 1"])
    }
}
