import Base
import CLI

/// What the commands of `entitled purchases` and `entitled products` take.
package enum PurchaseOptions {
    /// `purchases list`.
    package struct List: Sendable, Equatable {
        package let isUnclaimed: Bool
        package let app: String?
        package let environment: StoreEnvironment?
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            isUnclaimed = parsed.has("--unclaimed")
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    /// `purchases claim`.
    package struct Claim: Sendable, Equatable {
        package let purchase: String
        package let customer: String
        package let app: String?
        package let environment: StoreEnvironment?
        package let reason: String?
        /// Whether the customer's id may be one that no customer has.
        package let mayCreate: Bool

        package init(_ parsed: ParsedArguments) {
            mayCreate = parsed.has(CustomerIDs.create.name)
            purchase = parsed.text("TRANSACTION-ID") ?? ""
            customer = parsed.text("APP-USER-ID") ?? ""
            app = parsed.text("--app")
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
            reason = parsed.text("--reason")
        }
    }

    package static let list = CommandDeclaration(
        "list", "List purchases, most recently changed first.",
        options: [
            OptionDeclaration("--unclaimed", "Only those whose owner no id of yours names."),
            OptionDeclaration("--app", .text("ID"), "Only those of this app."),
            OptionDeclaration("--environment", .environment, "Only those of this environment."),
            ListLimit.option,
        ],
        examples: ["purchases list --unclaimed", "purchases list --environment Production --json"])

    package static let claim = CommandDeclaration(
        "claim", "Claim a purchase for a customer, as if restored in the app.",
        discussion:
            "An anonymous owner becomes one with the customer. With another owner, restore_behavior decides (the owner's"
            + " own, else that of the app and environment, else the general one): the purchases of the same Apple account"
            + " move, or it is refused. `customers transfer` asks nobody.",
        arguments: [
            ArgumentDeclaration(.text("TRANSACTION-ID"), "A transaction id, or order line item id, of the purchase."),
            CustomerIDs.argument(
                "APP-USER-ID", "An app user id of the customer who gets it; with --create one that no customer has"),
        ],
        options: [
            OptionDeclaration("--app", .text("ID"), "Of this app, where the id is in two."),
            OptionDeclaration("--environment", .environment, "Of this environment, where the id is in two."),
            CustomerIDs.create, OptionDeclaration("--reason", .text("TEXT"), "Reason, stored in the log."),
        ],
        examples: ["purchases claim 2000000123456789 user-42 --reason 'ticket 77'"])

    package static let products = CommandDeclaration(
        "list", "List purchased products and their entitlements.",
        options: [
            OptionDeclaration("--unmapped", "Only those that give nothing: they are in no entitlement.")
        ],
        examples: ["products list --unmapped"])
}
