import Base
import CLI
import Customers
import Database
import Schemas

/// `entitled journal apply`.
struct JournalApplyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "apply", "Restore what the database lost from a journal.",
        discussion:
            "Each entry is applied once, in the order of the file; what exists stays as it is, so the command may be"
            + " run again at any time, also beside running processes. Deletions are repeated, so that nothing about"
            + " deleted customers comes back. No webhooks are sent. A file that is damaged, cut off or of"
            + " another installation is refused as a whole, before anything changes.",
        examples: ["journal apply /backup/entitled.journal --dry-run", "journal apply /backup/entitled.journal"])

    @Argument(.file, "The file that `journal export` wrote.") private var file: String
    @Flag("--dry-run", "Count only; change nothing.") private var isDry: Bool
    @Flag("--without-key", "Apply even if this host lacks the key that seals the journal's secrets.")
    private var isWithoutKey: Bool

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        try JournalExportCommand.checkSchema(connection)
        let sealer = try SealingKeys.existing(configuration) ?? SecretSealer(keys: [])
        let application = try JournalApplication(
            of: file, patience: configuration.worker.expiryPatience, foldSettings: configuration.foldSettings,
            isDry: isDry)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        let counts = try application.run(sealer: isWithoutKey ? nil : sealer, on: connection) { done, all in
            bar.show(all == 0 ? 1 : Double(done) / Double(all), "\(done) of \(all) entries")
        }
        bar.clear()
        show(counts, context)
        return 0
    }

    private func show(_ counts: JournalApplication.Counts, _ context: CommandContext) {
        if context.json {
            context.terminal.document(
                .object([
                    "applied": .int(Int64(counts.applied)), "already": .int(Int64(counts.already)),
                    "refused": .int(Int64(counts.refused)),
                    "changed_endpoints": .array(counts.changedEndpoints.map { .string($0) }), "dry_run": .bool(isDry),
                ]))
            return
        }
        let applied =
            counts.applied == 0
            ? "nothing to do" : isDry ? "\(counts.applied) would be applied" : "\(counts.applied) applied"
        let deleted = counts.refused - counts.changedEndpoints.count
        let refused = deleted == 0 ? "" : ", \(deleted) concern deleted customers"
        context.terminal.print("\(applied): \(counts.already) entries were there already\(refused)")
        for endpoint in counts.changedEndpoints {
            context.terminal.print("the endpoint \(endpoint) stays as it is: it was changed here since")
        }
    }
}
