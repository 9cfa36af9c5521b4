import CLI

/// What `entitled import` takes.
package struct ImportOptions: Sendable, Equatable {
    package let file: String
    package let app: String
    package let sendsEvents: Bool
    /// Requests each second.
    package let rate: Int?
    /// Where the rows that need a person go; nil: beside the file.
    package let refused: String?
    package let isDry: Bool

    package init(_ parsed: ParsedArguments) throws {
        guard let file = parsed.text("--csv") else { throw UsageError("--csv is needed") }
        guard let app = parsed.text("--app") else { throw UsageError("--app is needed") }
        self.file = file
        self.app = app
        sendsEvents = parsed.has("--send-events")
        rate = parsed.integer("--rate").map { Int(clamping: $0) }
        refused = parsed.text("--refused")
        isDry = parsed.has("--dry-run")
    }

    package static let declaration = CommandDeclaration(
        "import", "Bring in customers and purchases from RevenueCat or tables of your own.",
        discussion:
            "The file is CSV in UTF-8, with commas, semicolons or tabs: RevenueCat's scheduled export as it is, or columns of"
            + " your own: app_user_id, one of original_transaction_id, transaction_id, jws, receipt, and, if you have them,"
            + " aliases, environment, first_seen, attributes.NAME. For each row Apple is asked for the whole history of the"
            + " purchase, which is verified and applied like anything that Apple sends, and the customer becomes its owner. No"
            + " webhooks are sent of it, unless --send-events says so. It is a job in the database: the same command line,"
            + " run again after it was ended, goes on where it was; a file that is imported again changes nothing. Rows that"
            + " need a person are written to a file of their own, with the reasons. The app needs server_api.",
        options: [
            OptionDeclaration("--csv", .file, isRequired: true, "The file."),
            OptionDeclaration("--app", .text("ID"), isRequired: true, "The app, by its id in the configuration."),
            OptionDeclaration("--dry-run", "Ask Apple and count; write nothing."),
            OptionDeclaration("--send-events", "Send events of everything that is new, however old it is."),
            OptionDeclaration(
                "--rate", .integer(1...50, "N"), "Maximum requests to Apple per second; default: Apple's limits."),
            OptionDeclaration(
                "--refused", .file, "Where rows that need a person are written; default: FILE.refused.csv."),
        ],
        examples: [
            "import --csv customers.csv --app demo --dry-run", "import --csv customers.csv --app demo",
            "import --csv transactions.csv --app demo --rate 10",
        ])
}
