import Base
import CLI

extension ReplayOptions {
    /// `replay history`.
    package struct History: Sendable, Equatable {
        package let app: String
        package let environment: StoreEnvironment?
        package let from: TimeArgument
        package let to: TimeArgument
        package let onlyFailures: Bool
        /// Types of notifications; empty: all.
        package let types: [String]
        package let transactionID: String?
        package let sendsEvents: Bool
        /// Pages each second.
        package let rate: Int?
        package let isDry: Bool

        package init(_ parsed: ParsedArguments) throws {
            guard let app = parsed.text("--app") else { throw UsageError("--app is needed") }
            guard let from = parsed.moment("--from") else { throw UsageError("--from is needed") }
            guard let to = parsed.moment("--to") else { throw UsageError("--to is needed") }
            self.app = app
            self.from = from
            self.to = to
            environment = parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:))
            onlyFailures = parsed.has("--only-failures")
            types = parsed.texts("--type")
            transactionID = parsed.text("--transaction")
            sendsEvents = parsed.has("--send-events")
            rate = parsed.integer("--rate").map { Int(clamping: $0) }
            isDry = parsed.has("--dry-run")
            if let transactionID, !transactionID.allSatisfy({ $0.isASCII && $0.isNumber }) || transactionID.count > 64 {
                throw UsageError("--transaction: '\(Terminal.harmless(transactionID))' is no transaction id")
            }
            for type in types where !type.allSatisfy({ $0.isASCII && ($0.isUppercase || $0 == "_") }) {
                throw UsageError("--type: '\(Terminal.harmless(type))' is no type of Apple's, such as DID_RENEW")
            }
        }
    }

    package static let history = CommandDeclaration(
        "history", "Refetch a period of Apple's notification history.",
        discussion:
            "Apple keeps its notifications for 180 days, those of the sandbox for 30. What is not known yet is verified and"
            + " applied like anything that Apple sends; what is known is left as it is. A worker does the same by itself for"
            + " every app with server_api. Events of what is older than 7 days are kept and not sent, unless --send-events"
            + " says so. It is a job in the database: the same command line, run again after it was ended, goes on where it"
            + " was.",
        options: [
            OptionDeclaration("--app", .text("ID"), isRequired: true, "The app, by its id in the configuration."),
            OptionDeclaration("--from", .moment, isRequired: true, "Start of the period of sending."),
            OptionDeclaration("--to", .moment, isRequired: true, "End of the period of sending."),
            OptionDeclaration(
                "--environment", .environment, "Production, if the app has it, is meant without this."),
            OptionDeclaration("--only-failures", "Only what Apple could not deliver."),
            OptionDeclaration("--type", .text("TYPE"), isRepeatable: true, "Only notifications of this type."),
            OptionDeclaration("--transaction", .text("ID"), "Only those of the customer who has this transaction."),
            OptionDeclaration("--send-events", "Send events however old they are."),
            OptionDeclaration("--rate", .integer(1...50, "N"), "At most so many pages of 20 each second."),
            OptionDeclaration("--dry-run", "Only count; nothing is fetched into the database."),
        ],
        examples: [
            "replay history --app demo --from 7d --to 0s --dry-run",
            "replay history --app demo --from 2026-11-01T00:00:00Z --to 2026-11-08T00:00:00Z --only-failures",
        ])
}
