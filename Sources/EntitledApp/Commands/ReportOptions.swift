import Base
import CLI
import Customers

/// What `entitled report` takes.
package struct ReportOptions: Sendable, Equatable {
    package let from: TimeArgument
    /// Nil: until now.
    package let to: TimeArgument?
    package let question: ReportQuestion
    package let isCSV: Bool

    package init(_ parsed: ParsedArguments) throws {
        guard let from = parsed.moment("--from") else { throw UsageError("--from is needed") }
        self.from = from
        to = parsed.moment("--to")
        question = ReportQuestion(
            app: parsed.text("--app"),
            environment: parsed.text("--environment").flatMap(StoreEnvironment.init(rawValue:)) ?? .production,
            step: parsed.text("--by").flatMap(ReportCalendar.Step.init(rawValue:)) ?? .total)
        isCSV = parsed.has("--csv")
    }

    package static let declaration = CommandDeclaration(
        "report", "Report subscriptions and revenue of a period.",
        discussion: (["Reads every purchase once, in one snapshot; nothing waits for it. What the numbers are:"]
            + ReportDefinitions.all.map { "\($0.name): \($0.meaning)" }).joined(separator: "\n"),
        options: [
            OptionDeclaration("--from", .moment, isRequired: true, "Start of the period, inclusive."),
            OptionDeclaration("--to", .moment, "End of the period, exclusive; default: now."),
            OptionDeclaration("--app", .text("ID"), "Limit to this app, by its id in the configuration."),
            OptionDeclaration("--environment", .environment, "Environment to report; default: Production."),
            OptionDeclaration(
                "--by", .choice(ReportCalendar.Step.allCases.map(\.rawValue), "STEP"),
                "Split by UTC days, weeks from Monday, or months; default: one total."),
            OptionDeclaration(
                "--csv", "A line for each number, for spreadsheets. Texts that begin like formulas get a '."),
        ],
        examples: [
            "report --from 2026-11-01 --to 2026-12-01", "report --from 30d --by day --json",
            "report --from 2026-01-01 --by month --app demo --csv",
        ])
}
