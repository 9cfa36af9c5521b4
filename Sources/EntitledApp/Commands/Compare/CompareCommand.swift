import Base
import CLI
import Customers
import Daemon
import Duties
import Schemas
import Subscriptions

/// `entitled compare`.
struct CompareCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "compare", "Compare RevenueCat's export with the records here.",
        discussion:
            "Reads RevenueCat's scheduled export of transactions, or a table of your own that `entitled import` takes, and"
            + " compares each row with the record here: whether the transaction is known, who owns it, which entitlements it"
            + " gives, and, for the newest transaction of a purchase, when its access ends. Then it looks for purchases that"
            + " the file lacks. Differences are grouped by cause. Nothing is written, and Apple is not asked. Use a"
            + " full export, not an incremental one. Exit status 0 if everything agrees, 1 if there is a difference or a row"
            + " that cannot be read, and also 1, without counts, if the file could not be compared.",
        examples: [
            "compare --csv transactions.csv --app demo",
            "compare --csv transactions.csv --app demo --differences differences.csv --json",
        ])

    @Option("--csv", .file, "The file.") private var path: String
    @Option("--app", .text("ID"), "The app, by its id in the configuration.") private var appID: String
    @Option(
        "--tolerance", .integer(0...86_400, "SECONDS"),
        "Difference in seconds up to which access ends are equal; default: 60.")
    private var tolerance: Int = 60
    @Option("--differences", .file, "New file for each difference, as CSV, readable by you alone.")
    private var differences: String?
    @Flag("--force", "Replace the file of --differences if there is one, once everything is compared.")
    private var replaces: Bool

    /// Of each cause.
    private static let shown = 3
    private static let unreadableShown = 20

    private struct Outcome {
        var count = ComparisonCount()
        var examples: [ComparisonCause: [ExportDifference]] = [:]
        var unreadable: [(line: Int64, reason: String)] = []

        mutating func add(_ difference: ExportDifference) {
            guard examples[difference.cause, default: []].count < CompareCommand.shown else { return }
            examples[difference.cause, default: []].append(difference)
        }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        if let differences, context.surroundings.resolve(differences) == context.surroundings.resolve(path) {
            throw UsageError("--differences and --csv name the same file")
        }
        if replaces, differences == nil { throw UsageError("--force needs --differences") }
        let configuration = try context.configuration()
        let app = try configuration.app(named: appID)
        let file = try ImportFile(path)
        try inspect(file, context)
        let comparison = ExportComparison(
            file, app: app.id,
            environments: [.production, .sandbox].filter { app.environments.contains($0) },
            catalogue: configuration.catalogue, foldSettings: configuration.foldSettings,
            tolerance: Int64(tolerance) * 1000)
        let table = try differences.map { try NewFile($0, replaces: replaces) }
        if context.json, table?.isStandardOutput ?? false {
            throw UsageError("--json needs --differences with a file, because its document goes to standard output")
        }
        try table?.write(Array(CSVTable.line(["line", "reason"] + ExportDifference.columns).utf8))
        var outcome = Outcome()
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        outcome.count = try comparison.run(
            on: try DatabaseAccess(configuration).connect(.api),
            progress: { count, share in bar.show(share, "\(count.rows) rows, \(count.differing) differ") },
            unreadable: { line, reason in
                guard outcome.unreadable.count < CompareCommand.unreadableShown else { return }
                outcome.unreadable.append((line, reason))
            },
            found: { some in
                for difference in some { outcome.add(difference) }
                let lines = some.map { CSVTable.line([String($0.line ?? 0), $0.cause.rawValue] + $0.fields) }
                try table?.write(Array(lines.joined().utf8))
            })
        try table?.finish()
        bar.clear()
        if context.json { show(outcome, context) } else { tell(outcome, context) }
        return outcome.count.agrees ? ExitStatus.done : ExitStatus.failed
    }

    /// What cannot be read to its end is not compared.
    private func inspect(_ file: ImportFile, _ context: CommandContext) throws {
        var bar = ProgressBar(context.terminal)
        defer { bar.clear() }
        _ = try file.inspect { bar.show($0, "read") }
    }

    // MARK: - Telling

    private func causes(_ outcome: Outcome) -> [(cause: ComparisonCause, count: Int64)] {
        ComparisonCause.allCases.compactMap { cause in outcome.count.differences[cause].map { (cause, $0) } }
    }

    private func show(_ outcome: Outcome, _ context: CommandContext) {
        let causes = causes(outcome).map { cause, count in
            JSON.object([
                "cause": .string(cause.rawValue), "count": .int(count), "explanation": .string(cause.explanation),
                "examples": .array(outcome.examples[cause, default: []].map(\.json)),
            ])
        }
        let unreadable = outcome.unreadable.map { line, reason in
            JSON.object(["line": .int(line), "reason": .string(reason)])
        }
        let more = JSON.object([
            "tolerance_seconds": .int(Int64(tolerance)), "differences": .array(causes),
            "unreadable_rows": .array(unreadable), "differences_file": .text(differences),
        ])
        context.terminal.document(.object(outcome.count.json + (more.members ?? [])))
    }

    private func tell(_ outcome: Outcome, _ context: CommandContext) {
        let count = outcome.count
        context.terminal.print(
            "\(count.rows) rows: \(count.same) agree, \(count.differing) differ, \(count.otherStores) of other stores,"
                + " \(count.otherEnvironments) of another environment, \(count.unreadable) cannot be read")
        if count.newerHere > 0 {
            context.terminal.print("\(count.newerHere) purchases here are newer than the file")
        }
        for (cause, number) in causes(outcome) {
            context.terminal.print("")
            context.terminal.paragraph("\(cause.rawValue): \(number). \(cause.explanation)")
            for difference in outcome.examples[cause, default: []] {
                let place = difference.line.map { "line \($0)" } ?? "not in the file"
                let names = [difference.appUserID, difference.transactionID ?? difference.originalTransactionID]
                    .compactMap { $0 }.joined(separator: ", ")
                context.terminal.print(
                    Terminal.harmless(
                        "  \(place) (\(names)): \(difference.there) there, \(difference.here) here"))
            }
        }
        if !outcome.unreadable.isEmpty { context.terminal.print("") }
        for (line, reason) in outcome.unreadable {
            context.terminal.print(Terminal.harmless("line \(line): \(reason)"))
        }
        guard !count.differences.isEmpty else { return }
        context.terminal.print("")
        context.terminal.print(
            "access ends within \(tolerance) s are one"
                + (differences.map { "; all differences: \(Terminal.harmless($0))" } ?? ""))
    }
}
