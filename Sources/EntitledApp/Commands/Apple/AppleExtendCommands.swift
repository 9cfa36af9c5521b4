import AppStore
import AppStoreAPI
import Base
import CLI
import Foundation
import Subscriptions

/// `entitled apple extend`.
struct AppleExtendCommand: Command {
    static let declaration = AppleOptions.extend
    private let target: AppleOptions.Target
    private let options: AppleOptions.Extension
    private let id: String

    init(_ parsed: ParsedArguments) throws {
        target = AppleOptions.Target(parsed)
        options = AppleOptions.Extension(parsed)
        id = parsed.text("ID") ?? ""
        _ = try options.extension()
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let wanted = try options.extension()
        return try AppleSession.with(target, try context.configuration(), context) { session in
            let found = try session.client.subscriptions(of: id, in: session.choice(target))
            let state = try subscription(found.answer)
            let payload = state.transaction.payload
            try options.confirm(
                "Give the subscriber of \(payload.productId ?? "") (\(state.status.word), until"
                    + " \(AppleTables.date(payload.expiresDate)), \(found.environment.rawValue)) \(wanted.days) days?",
                context)
            let result = try session.client.extendRenewal(
                of: state.originalTransactionID, wanted, in: found.environment)
            guard result.isDone else { throw CommandFailure("Apple did not extend it, and does not say why") }
            if context.json {
                context.terminal.document(
                    .object([
                        "app": .string(session.app.id), "environment": .string(found.environment.rawValue),
                        "original_transaction_id": .string(state.originalTransactionID),
                        "request_id": .string(wanted.requestIdentifier), "expires_at": .date(result.effectiveDate),
                    ]))
            } else {
                context.terminal.print(
                    "extended until \(AppleTables.date(result.effectiveDate)), request \(wanted.requestIdentifier)")
            }
            return 0
        }
    }

    /// The one subscription that is meant.
    private func subscription(_ states: [SubscriptionState]) throws -> SubscriptionState {
        if let exact = states.first(where: { $0.originalTransactionID == id }) { return exact }
        if let latest = states.first(where: { $0.transaction.payload.transactionId == id }) { return latest }
        guard let only = states.first else { throw CommandFailure("the customer of \(id) has no subscription") }
        guard states.count == 1 else {
            let ids = states.map(\.originalTransactionID).joined(separator: ", ")
            throw CommandFailure("the customer of \(id) has several subscriptions; say which: \(ids)")
        }
        return only
    }
}

/// `entitled apple extend-all`.
struct AppleExtendAllCommand: Command {
    static let declaration = AppleOptions.extendAll
    private let target: AppleOptions.Target
    private let options: AppleOptions.Extension
    private let product: String
    private let storefronts: [String]
    private let shown: String?

    init(_ parsed: ParsedArguments) throws {
        target = AppleOptions.Target(parsed)
        options = AppleOptions.Extension(parsed)
        product = parsed.text("PRODUCT-ID") ?? ""
        storefronts = parsed.texts("--storefront")
        shown = parsed.text("--status")
        if shown == nil { _ = try options.extension() }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        try AppleSession.with(target, try context.configuration(), context) { session in
            let environment = session.environment(target)
            if let shown {
                let progress = try session.client.extensionProgress(
                    of: product, requestIdentifier: shown, in: environment)
                show(progress, shown, environment, context)
                return 0
            }
            let wanted = try options.extension()
            let known = Set(try context.configuration().catalogue.products.values.joined())
            if !known.isEmpty, !known.contains(product) {
                let hint = NearestName.hint(for: product, among: known.sorted())
                context.terminal.printError(
                    Terminal.harmless("note: no entitlement has the product \(product)\(hint)"))
            }
            let places = storefronts.isEmpty ? "everywhere" : "in \(storefronts.joined(separator: ", "))"
            try options.confirm(
                "Give ALL active subscribers of \(product) \(places) (\(environment.rawValue)) \(wanted.days) days?",
                context)
            try session.client.extendAllRenewals(
                of: product, wanted, storefronts: storefronts, in: environment)
            if context.json {
                context.terminal.document(
                    .object([
                        "product_id": .string(product), "environment": .string(environment.rawValue),
                        "request_id": .string(wanted.requestIdentifier),
                    ]))
            } else {
                context.terminal.print(
                    "Apple has begun; see: entitled apple extend-all \(product) --status \(wanted.requestIdentifier)"
                        + " --environment \(environment.rawValue)")
            }
            return 0
        }
    }

    private func show(
        _ progress: ExtensionProgress, _ request: String, _ environment: StoreEnvironment, _ context: CommandContext
    ) {
        if context.json {
            context.terminal.document(
                .object([
                    "product_id": .string(product), "environment": .string(environment.rawValue),
                    "request_id": .string(request), "complete": .bool(progress.isComplete),
                    "completed_at": .date(progress.completed), "succeeded": .integer(progress.succeeded),
                    "failed": .integer(progress.failed),
                ]))
        } else if progress.isComplete {
            context.terminal.print(
                "complete since \(AppleTables.date(progress.completed)): \(progress.succeeded ?? 0) extended,"
                    + " \(progress.failed ?? 0) not")
        } else {
            context.terminal.print("Apple is not done yet")
        }
    }
}

extension AppleOptions.Extension {
    fileprivate func `extension`() throws -> RenewalExtension {
        guard let days, let reason else { throw UsageError("an extension needs --days and --reason") }
        let identifier = requestIdentifier ?? UUID().uuidString.lowercased()
        guard identifier.utf8.count <= 128 else { throw UsageError("--request-id has at most 128 characters") }
        return RenewalExtension(days: days, reason: reason, requestIdentifier: identifier)
    }

    fileprivate func confirm(_ question: String, _ context: CommandContext) throws {
        try Confirmation(isGiven: isConfirmed).require("\(question) It cannot be undone.", context)
    }
}
