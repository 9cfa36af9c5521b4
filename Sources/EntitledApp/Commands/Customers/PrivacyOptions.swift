import CLI
import Database

/// What the commands take that are about what is stored of a customer.
package enum PrivacyOptions {
    /// `customers delete`.
    package struct Delete: Sendable, Equatable {
        package let id: String
        package let reason: String?
        /// Nil: as the configuration says.
        package let policy: DeletionPolicy?

        package init(_ parsed: ParsedArguments) throws {
            id = parsed.text("ID") ?? ""
            reason = parsed.text("--reason")
            let asked = DeletionPolicy.allCases.filter { parsed.has("--\($0.rawValue)") }
            guard asked.count < 2 else { throw UsageError("--erase and --pseudonymise exclude each other") }
            policy = asked.first
        }
    }

    package static let delete = CommandDeclaration(
        "delete", "Delete a customer with all ids and remove personal data from every table.",
        discussion:
            "Apple goes on charging for subscriptions. pseudonymise: purchases, events and the log stay, with pseudonyms for"
            + " the ids, without attributes, account tokens, and what consumers answered. erase: everything about the purchases goes"
            + " too, and what Apple still sends makes a new, anonymous one. The setting is privacy.deletion. A new purchase"
            + " with the same id makes a new customer. Consumers are not told. It cannot be undone; cut off, a worker finishes"
            + " it. Backups, and webhooks that were sent, are beyond it.",
        arguments: [CustomerIDs.argument("ID", "An app user id of the customer")],
        options: [
            OptionDeclaration("--erase", "Whatever the setting is."),
            OptionDeclaration("--pseudonymise", "Whatever the setting is."), CustomerActionOptions.reason,
            Confirmation.option,
        ],
        examples: [
            "customers delete user-42 --reason 'asked by mail on 2026-11-20'", "customers delete user-42 --erase",
        ])

    /// `customers deletions`.
    package struct Deletions: Sendable, Equatable {
        package let id: String?
        package let limit: Int

        package init(_ parsed: ParsedArguments) {
            id = parsed.text("--id")
            limit = parsed.integer("--limit").map(Int.init) ?? ListLimit.standard
        }
    }

    package static let deletions = CommandDeclaration(
        "deletions", "List deletions of customers, newest first.",
        discussion: "Ids are not kept. Whether somebody was deleted is answered by a salted hash.",
        options: [
            OptionDeclaration(
                "--id", .text("ID"), "Only of who had this app user id or app account token, whatever its case."),
            ListLimit.option,
        ],
        examples: ["customers deletions", "customers deletions --id user-42 --json"])

    /// `customers export`.
    package struct Export: Sendable, Equatable {
        package let anyID: String
        package let output: String?

        package init(_ parsed: ParsedArguments) {
            anyID = parsed.text("ANY-ID") ?? ""
            output = parsed.text("--output")
        }
    }

    package static let export = CommandDeclaration(
        "export", "Export all stored data of a customer as one JSON document.",
        discussion:
            "With what Apple signed, so that it can be verified, what was sent to whom, and what was answered. The file can"
            + " be read by its owner only.",
        arguments: [CustomerIDs.any],
        options: [OptionDeclaration("--output", .file, "Where to; without it, to standard output.")],
        examples: ["customers export user-42 --output user-42.json"])
}
