import Base
import CLI
import Customers
import Schemas
import Subscriptions

/// `entitled customers grant|revoke-grant`.
enum GrantCommands {
    struct Give: Command {
        static let declaration = GrantOptions.grant
        private let options: GrantOptions

        init(_ parsed: ParsedArguments) throws {
            options = GrantOptions(parsed)
            _ = try options.term(now: 0)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let known = configuration.catalogue.products.keys.sorted()
            guard known.contains(options.entitlement) else {
                let list = known.isEmpty ? "there are none" : "there are: \(known.joined(separator: ", "))"
                let hint = NearestName.hint(for: options.entitlement, among: known)
                throw CommandFailure("no entitlement \(options.entitlement) is configured\(hint); \(list)")
            }
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let customer = try CustomerArgument(
                options.id, for: .receiving(mayCreate: options.mayCreate), on: connection)
            let granting = try CustomerActions(configuration, context, reason: options.reason).grant(
                options.entitlement, to: customer.id, try options.term(now: SystemClock().now()), on: connection)
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
                Terminal.harmless("\(customer.id) \(verb) \(options.entitlement) \(granting.grant.span)"))
            return 0
        }
    }

    struct Revoke: Command {
        static let declaration = GrantOptions.revoke
        private let options: GrantOptions
        private let confirmation: Confirmation

        init(_ parsed: ParsedArguments) {
            options = GrantOptions(parsed)
            confirmation = Confirmation(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let configuration = try context.configuration()
            let connection = try DatabaseAccess(configuration).connect(.worker)
            let customer = try CustomerArgument(options.id, for: .changing, on: connection)
            try confirmation.ask("Revoke all grants of \(options.entitlement) that \(customer.id) has?", context) {
                try CustomerPreview(customer.id, configuration, on: connection).lines(
                    ofEntitlement: options.entitlement)
            }
            let revocation = try CustomerActions(configuration, context, reason: options.reason).revoke(
                options.entitlement, from: customer.id, on: connection)
            guard !context.json else {
                context.terminal.document(
                    JSON.object([
                        "revoked": .array(revocation.grants.map(\.document)), "events": .strings(revocation.events),
                    ]).naming([customer]))
                return 0
            }
            [customer].tell(context.terminal)
            let count = revocation.grants.count
            let done = count == 0 ? "nothing to take back: no grant" : "\(count) \(count == 1 ? "grant" : "grants")"
            context.terminal.print(
                Terminal.harmless(
                    "\(done) of \(options.entitlement) \(count == 0 ? "runs for" : "taken back from") \(customer.id)"))
            return 0
        }
    }
}

extension Grant {
    fileprivate var document: JSON {
        .object([
            "entitlement": .string(entitlement), "product_id": .string(product), "original_transaction_id": .string(id),
            "granted_at": .date(start), "expires_at": .date(end), "revoked_at": .date(revoked),
        ])
    }

    /// `until …` or `for ever`.
    fileprivate var span: String { DisplayText.until(end) }
}
