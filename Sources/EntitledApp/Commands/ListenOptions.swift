import Base
import CLI
import Database

/// What `entitled listen` takes.
package struct ListenOptions: Sendable, Equatable {
    /// Where events are posted to; nil: they are only shown.
    package let forwardTo: String?
    /// Nil: a new one.
    package let secret: WebhookSecret?
    /// Only what this endpoint gets.
    package let endpoint: String?
    /// Types; empty: all.
    package let events: [String]
    /// Ids of apps; empty: all.
    package let apps: [String]
    /// Nil: from now on.
    package let since: TimeArgument?

    package init(_ parsed: ParsedArguments) throws {
        forwardTo = parsed.text("--forward-to")
        secret = try WebhookSecretOption.value(parsed)
        endpoint = parsed.text("--endpoint")
        events = parsed.texts("--event")
        apps = parsed.texts("--app")
        since = parsed.moment("--since")
        if secret != nil, forwardTo == nil { throw UsageError("--secret is for --forward-to") }
    }

    package static let declaration = CommandDeclaration(
        "listen", "Show events as they happen, and forward them to a consumer under development.",
        discussion:
            "It needs no endpoint and changes nothing. With --forward-to each event is posted there as a delivery would"
            + " be, the same body and headers, signed with a secret that is shown at the beginning; the answer is shown,"
            + " and nothing is tried again. Ctrl-C ends it.",
        options: [
            OptionDeclaration(
                "--forward-to", .text("URL"), "Post each event to this URL; local addresses are allowed.")
        ] + WebhookSecretOption.declarations + [
            OptionDeclaration("--endpoint", .text("ID"), "Limit to events that match this endpoint's filters."),
            OptionDeclaration("--event", .text("TYPE"), isRepeatable: true, "Limit to this event type."),
            OptionDeclaration("--app", .text("ID"), isRepeatable: true, "Limit to this app."),
            OptionDeclaration("--since", .moment, "Begin with the events since this time."),
        ],
        examples: [
            "listen", "listen --forward-to http://localhost:3000/hooks", "listen --since 1h --event RENEWAL --json",
        ])
}
