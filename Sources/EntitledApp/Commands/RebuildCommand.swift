import Base
import CLI
import Customers
import Schemas

/// `entitled rebuild`.
struct RebuildCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "rebuild", "Recompute all records from the log.",
        discussion:
            "Records follow from the facts and actions of the log alone; this repairs those that differ. It sends no"
            + " events, runs beside the workers, and continues where it was stopped. Each difference is printed.",
        examples: ["rebuild --dry-run", "rebuild"])

    @Flag("--dry-run", "Compare only; exit status 1 if a record differs.") private var isDry: Bool

    /// In the document for machines; people see all of them, as they are found.
    private static let listed = 1000

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(isDry ? .api : .worker)
        let rebuild = RecordRebuild(
            patience: configuration.worker.expiryPatience, foldSettings: configuration.foldSettings,
            isDry: isDry)
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        var found: [Difference] = []
        var hasToldResume = false
        let totals = try rebuild.run(
            on: connection,
            progress: { progress in
                if progress.isResumed, !hasToldResume {
                    hasToldResume = true
                    if !context.json { context.terminal.print("resuming the rebuild that was stopped") }
                }
                bar.show(
                    progress.fraction,
                    "\(progress.totals.purchases) purchases, \(progress.totals.customers) customers, "
                        + "\(progress.totals.differences) differences")
            },
            found: { difference in
                if found.count < RebuildCommand.listed { found.append(difference) }
                guard !context.json else { return }
                bar.clear()
                context.terminal.print(Terminal.harmless(difference.line))
            })
        bar.clear()
        tell(totals, found, isResumed: hasToldResume, context)
        guard isDry, totals.differences > 0 else { return 0 }
        if !context.json { context.terminal.complain("records differ from the log: `entitled rebuild` repairs them") }
        return ExitStatus.failed
    }

    private func tell(
        _ totals: RebuildTotals, _ found: [Difference], isResumed: Bool, _ context: CommandContext
    ) {
        if context.json {
            context.terminal.document(
                .object([
                    "differences": .int(totals.differences), "purchases": .int(totals.purchases),
                    "customers": .int(totals.customers), "dry_run": .bool(isDry), "resumed": .bool(isResumed),
                    "found": .array(found.map(\.json)),
                ]))
            return
        }
        let looked = "\(totals.purchases) purchases and \(totals.customers) customers"
        let outcome =
            totals.differences == 0
            ? "no differences" : "\(totals.differences) differences\(isDry ? "" : ", repaired")"
        context.terminal.print("\(looked): \(outcome)")
    }
}
