import Base
import CLI
import Daemon
import Database

/// `entitled doctor`.
package struct DoctorCommand: ReadingCommand, RemoteCommand {
    package static let configuration = CommandConfiguration(
        "doctor", "Check the installation and suggest fixes.",
        discussion:
            "Checks configuration, files, database, privileges, certificates, clocks, workers, backlogs, apps and endpoints;"
            + " for each app with server_api also whether Apple accepts the key and a test notification arrives. Each line is"
            + " ok, a warning or an error. Exit status 1 if there is an error. It changes nothing. With --url, only"
            + " the findings that follow from the database; --json prints the answer of the operator API.",
        examples: ["doctor", "doctor --offline --json", "doctor --offline --watch 30s"])

    @Flag("--offline", "Skip the checks that query Apple.") private var isOffline: Bool
    /// How long Apple's test notification may take; it comes within seconds.
    package var patience = Duration.seconds(30)
    /// As `CheckContext` has it.
    package var longestCommit = ClusterMember.longestCommit

    package init() {}

    package func run(_ context: CommandContext) throws -> Int32 {
        if let remote = context.remote { return try show(try remote.get(["doctor"], []), context) }
        let bar = Monitor(ProgressBar(context.terminal))
        let report = DoctorReport(
            examine(context) { fraction, text in bar.change { $0.show(fraction, text) } })
        bar.change { $0.clear() }
        if context.json {
            context.terminal.document(report.document)
        } else {
            context.terminal.print(
                report.text(colours: context.terminal.isInteractive, columns: context.terminal.screen?.columns))
        }
        guard report.isGood else {
            context.terminal.complain("the doctor found \(report.summary)")
            return ExitStatus.failed
        }
        return 0
    }

    private func show(_ answer: [UInt8], _ context: CommandContext) throws -> Int32 {
        let findings = try JSON(ordered: answer)["items"]?.arrayValue ?? []
        let errors = findings.count { $0.cell("level") == "error" }
        if context.json {
            try context.document(answer)
        } else if findings.isEmpty {
            context.terminal.print("all is well, as far as the database tells")
        } else {
            for finding in findings {
                let word = finding.cell("level") == "error" ? "ERROR  " : "warning"
                context.terminal.paragraph(
                    Terminal.harmless("\(word)  \(finding.cell("name")): \(finding.cell("text"))"))
            }
        }
        guard errors > 0 else { return ExitStatus.done }
        context.terminal.complain("the doctor found \(errors.counted("error"))")
        return ExitStatus.failed
    }

    private func examine(
        _ context: CommandContext, _ progress: @escaping @Sendable (Double, String) -> Void
    ) -> [NamedFinding] {
        func configuration(_ finding: Finding) -> NamedFinding {
            NamedFinding(name: "configuration.values", finding: finding)
        }
        do throws(ConfigurationMistakes) {
            let (document, path) = try ConfigurationFile.document(context.configurationFile, context.surroundings)
            let parsed = try Configuration.parse(document, context.surroundings)
            let origin = configuration(.ok(path ?? "no file: defaults and environment only"))
            return [origin] + examine(parsed, context, progress)
        } catch {
            return error.all.map { configuration(.error("\($0)", "`entitled check-config --help` lists all keys")) }
        }
    }

    private func examine(
        _ configuration: Configuration, _ context: CommandContext,
        _ progress: @escaping @Sendable (Double, String) -> Void
    ) -> [NamedFinding] {
        let database = DatabaseAccess(configuration.database, stateDirectory: configuration.stateDirectory)
        let checking = CheckContext(
            configuration: configuration, database: database, surroundings: context.surroundings,
            clock: SystemClock(), patience: patience, longestCommit: longestCommit,
            progress: progress)
        return Doctor(context: checking, isOffline: isOffline).examine()
    }
}
