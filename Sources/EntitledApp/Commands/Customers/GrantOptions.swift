import CLI
import Subscriptions

/// What `customers grant` and `customers revoke-grant` take.
package struct GrantOptions: Sendable, Equatable {
    package let id: String
    package let entitlement: String
    package let duration: GrantDuration?
    package let until: TimeArgument?
    package let start: TimeArgument?
    package let reason: String?
    /// Whether the id may be one that no customer has.
    package let mayCreate: Bool

    package init(_ parsed: ParsedArguments) {
        id = parsed.text("ID") ?? ""
        entitlement = parsed.text("ENTITLEMENT") ?? ""
        duration = parsed.text("--duration").flatMap(GrantDuration.init)
        until = parsed.text("--until").flatMap(TimeArgument.init(text:))
        start = parsed.text("--start").flatMap(TimeArgument.init(text:))
        reason = parsed.text("--reason")
        mayCreate = parsed.has(CustomerIDs.create.name)
    }

    /// - Parameter now: ms since 1970.
    package func term(now: Int64) throws(UsageError) -> GrantTerm {
        switch (duration, until) {
        case (let duration?, nil): return .lasting(duration, from: start?.milliseconds(now: now))
        case (nil, let until?):
            guard start == nil else { throw UsageError("--start goes with --duration only") }
            return .until(until.milliseconds(now: now))
        default: throw UsageError("say how long: one of --duration and --until")
        }
    }

    package static let grant = CommandDeclaration(
        "grant", "Grant a customer an entitlement without a purchase.",
        discussion:
            "It is given at once, and told to consumers as NON_RENEWING_PURCHASE of the store PROMOTIONAL; its end is told"
            + " as EXPIRATION. Endpoints with --app get neither, but for --app '$promotional'. The same again within two hours"
            + " changes nothing. A month is one of the calendar, in UTC. A grant stays with its customer when purchases"
            + " are transferred, and ends when the customer is deleted.",
        arguments: [
            CustomerIDs.argument("ID", "An app user id of the customer; with --create one that no customer has"),
            ArgumentDeclaration(.text("ENTITLEMENT"), "An entitlement of the configuration."),
        ],
        options: [
            OptionDeclaration(
                "--duration", .choice(GrantDuration.allCases.map(\.rawValue), "DURATION"), "Duration of the grant."),
            OptionDeclaration("--until", .time, "Or until when."),
            OptionDeclaration("--start", .moment, "What the duration is counted from; without it, now."),
            CustomerIDs.create, reason,
        ],
        examples: [
            "customers grant user-42 pro --duration monthly --reason 'ticket 77'",
            "customers grant user-43 pro --duration weekly --create",
            "customers grant user-42 pro --until 2027-01-01T00:00:00Z",
        ])

    package static let revoke = CommandDeclaration(
        "revoke-grant", "Revoke a customer's grants of an entitlement.",
        discussion:
            "Consumers get CANCELLATION and EXPIRATION for each grant that was running. What was bought is not touched.",
        arguments: [
            CustomerIDs.argument("ID", "An app user id of the customer"),
            ArgumentDeclaration(.text("ENTITLEMENT"), "The entitlement."),
        ],
        options: [reason, Confirmation.option], examples: ["customers revoke-grant user-42 pro --reason 'ticket 77'"])

    private static let reason = OptionDeclaration("--reason", .text("TEXT"), "Reason, stored in the log.")
}
