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
        "report", "Counts subscriptions and money of a time.",
        discussion: (["Reads every purchase once, in one snapshot; nothing waits for it. What the numbers are:"]
            + ReportDefinitions.all.map { "\($0.name): \($0.meaning)" }).joined(separator: "\n"),
        options: [
            OptionDeclaration("--from", .moment, "Needed: the beginning, which is in it."),
            OptionDeclaration("--to", .moment, "The end, which is not; what is to come is cut off. Now without this."),
            OptionDeclaration("--app", .text("ID"), "Only this app, as the configuration names it."),
            OptionDeclaration("--environment", .environment, "Production without this; never both."),
            OptionDeclaration(
                "--by", .choice(ReportCalendar.Step.allCases.map(\.rawValue), "STEP"),
                "In parts: UTC days, weeks from Monday on, or months. In one without this."),
            OptionDeclaration(
                "--csv", "A line for each number, for spreadsheets. Texts that begin like formulas get a '."),
        ],
        examples: [
            "report --from 2026-11-01 --to 2026-12-01", "report --from 30d --by day --json",
            "report --from 2026-01-01 --by month --app demo --csv",
        ])
}
