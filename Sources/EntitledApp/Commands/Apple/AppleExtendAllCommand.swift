import AppStore
import AppStoreAPI
import Base
import CLI
import Subscriptions

/// `entitled apple extend-all`.
struct AppleExtendAllCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "extend-all", "Extend the renewal date for all active subscribers of a product.",
        discussion:
            "Apple takes hours or days, reports each extension by a notification, and cannot undo it. Repeating a request"
            + " id does nothing.",
        examples: [
            "apple extend-all pro_monthly --days 3 --reason outage",
            "apple extend-all pro_monthly --status 1bd4b1f9-7c1d-4a0f-9d36-1b0c0c2f9a11",
        ])

    @Argument(.text("PRODUCT-ID"), "The product.") private var product: String
    @OptionGroup private var target: AppleTarget
    @OptionGroup private var options: AppleExtensionOptions
    @Option("--storefront", .text("CODE"), "Extend only in this storefront, such as USA; default: everywhere.")
    private var storefronts: [String]
    @Option("--status", .text("REQUEST-ID"), "Show the progress of this request instead.") private var shown: String?
    @OptionGroup private var confirmation: Confirmation

    func validate() throws {
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
            try confirmation.require(
                "Give ALL active subscribers of \(product) \(places) (\(environment.rawValue)) \(wanted.days) days? It cannot be undone.",
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
                    "Apple has begun; see `entitled apple extend-all \(product) --status \(wanted.requestIdentifier)`"
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
