import Base
import CLI
import Customers
import Database
import Postgres
import Schemas
import Subscriptions

/// `entitled customers grant`.
struct CustomerGrantCommand: RemoteCommand {
    static let configuration = CommandConfiguration(
        "grant", "Grant a customer an entitlement without a purchase.",
        discussion:
            "Takes effect at once. Consumers get NON_RENEWING_PURCHASE with the store PROMOTIONAL, and at its end"
            + " EXPIRATION. Endpoints with --app get neither, except --app '$promotional'. The same grant within two hours"
            + " changes nothing. Months are calendar months, in UTC. A grant stays with its customer when purchases"
            + " are transferred, and ends when the customer is deleted. With --url the customer must exist, and"
            + " --reason is required. \(ChangeOptions.help)",
        examples: [
            "customers grant user-42 pro --duration monthly --reason 'ticket 77'",
            "customers grant user-43 pro --duration weekly --create",
            "customers grant user-42 pro --until 2027-01-01T00:00:00Z",
        ])

    @Argument(CustomerIDs.argument("ID", "An app user id of the customer; with --create one that no customer has"))
    private var id: String
    @Argument(.text("ENTITLEMENT"), "An entitlement of the configuration.") private var entitlement: String
    @Option("--duration", .choice(GrantDuration.allCases.map(\.rawValue), "DURATION"), "Duration of the grant.")
    private var duration: GrantDuration?
    @Option("--until", .time, "End of the grant, instead of a duration.") private var until: TimeArgument?
    @Option("--start", .moment, "Start of the duration; default: now.") private var start: TimeArgument?
    @Flag(CustomerIDs.create) private var mayCreate: Bool
    @Option(CustomerIDs.reason) private var reason: String?

    @Flag(ChangeCall.wait) private var waits: Bool

    func validate() throws {
        _ = try term(now: 0)
    }

    /// - Parameter now: ms since 1970.
    private func term(now: Int64) throws(UsageError) -> GrantTerm {
        switch (duration, until) {
        case (let duration?, nil): return .lasting(duration, from: start?.milliseconds(now: now))
        case (nil, let until?):
            guard start == nil else { throw UsageError("--start needs --duration") }
            return .until(until.milliseconds(now: now))
        default: throw UsageError("grant needs either --duration or --until")
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try ask(remote, context) }
        guard !waits else { throw ChangeCall.needless }
        let configuration = try context.configuration()
        let known = configuration.catalogue.products.keys.sorted()
        guard known.contains(entitlement) else {
            let list = known.isEmpty ? "there are none" : "there are: \(known.joined(separator: ", "))"
            let hint = NearestName.hint(for: entitlement, among: known)
            throw CommandFailure("no entitlement \(entitlement) is configured\(hint); \(list)")
        }
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let customer = try CustomerArgument(
            id, for: .receiving(mayCreate: mayCreate), on: connection)
        let granting = try CustomerActions(configuration, context, reason: reason).grant(
            entitlement, to: customer.id, try term(now: SystemClock().now()), on: connection)
        guard !context.json else {
            context.terminal.document(
                JSON.object([
                    "granted": granting.grant.document, "changed": .bool(granting.isNew),
                    "events": .strings(granting.events),
                ]).naming([customer]))
            return 0
        }
        [customer].tell(context.terminal)
        let verb = granting.isNew ? "has" : "had been given this shortly before:"
        context.terminal.print(
            Terminal.harmless("\(customer.id) \(verb) \(entitlement) \(granting.grant.span)"))
        return 0
    }
}

extension CustomerGrantCommand {
    private func ask(_ remote: OperatorClient, _ context: CommandContext) throws -> Int32 {
        if mayCreate { throw UsageError("--create \(RemoteOptions.onHostOnly)") }
        if start != nil { throw UsageError("--start \(RemoteOptions.onHostOnly)") }
        let end = until.map { Timestamp.text($0.milliseconds(now: SystemClock().now())) }
        return try ChangeCall(reason: reason, waits: waits).ask(
            remote, ["customers", id, "grants"], context,
            [
                "entitlement": .string(entitlement), "duration": duration.map { .string($0.rawValue) },
                "until": end.map { .string($0) },
            ])
    }
}

extension GrantDuration: InputValue {}

extension Grant {
    var document: JSON {
        .object([
            "entitlement": .string(entitlement), "product_id": .string(product), "original_transaction_id": .string(id),
            "granted_at": .date(start), "expires_at": .date(end), "revoked_at": .date(revoked),
        ])
    }

    /// `until …` or `for ever`.
    var span: String { DisplayText.until(end) }
}
