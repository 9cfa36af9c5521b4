import Base
import CLI
import Daemon
import Duties
import Schemas

/// `entitled retention --dry-run`.
struct RetentionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        "retention", "Show what retention would delete.",
        discussion:
            "A worker deletes rows that are older than the configuration keeps them. This command counts the rows that its"
            + " next run would delete, with their bytes and the time of the oldest one, and changes nothing. It reads large"
            + " tables as a whole, a few blocks at a time, which takes minutes in a large database.",
        examples: ["retention --dry-run", "retention --dry-run --json"])

    @Flag("--dry-run", "Count only; required, since the workers delete by themselves.") private var isDry: Bool

    func validate() throws {
        guard isDry else { throw UsageError("retention needs --dry-run: the workers delete by themselves") }
    }

    func run(_ context: CommandContext) throws -> Int32 {
        let configuration = try context.configuration()
        let connection = try DatabaseAccess(configuration).connect(.worker)
        let forecast = try RetentionForecast.make(
            configuration.retentionTimes, now: SystemClock().now(), on: connection)
        if context.json {
            context.terminal.document(
                .object(["dry_run": .bool(true), "tables": .array(forecast.entries.map(RetentionCommand.document))]))
            return 0
        }
        var table = TextTable(["table", "effect", .number("rows"), .number("bytes"), .time("oldest"), .time("before")])
        for entry in forecast.entries {
            table.add([
                entry.table, entry.effect.rawValue, "\(entry.rows)", "\(entry.bytes)",
                entry.oldest.map(Timestamp.text) ?? "", Timestamp.text(entry.before),
            ])
        }
        context.terminal.table(table)
        for entry in forecast.entries {
            for (reason, count) in entry.kept.sorted(by: { $0.key < $1.key }) {
                let unit = entry.effect == .dropped ? "days" : "rows"
                context.terminal.print("\(entry.table): \(count) \(unit) are older and stay (\(reason))")
            }
        }
        return 0
    }

    private static func document(_ entry: RetentionForecast.Entry) -> JSON {
        .object([
            "table": .string(entry.table), "effect": .string(entry.effect.rawValue), "rows": .int(entry.rows),
            "bytes": .int(entry.bytes), "oldest_at": .date(entry.oldest), "before": .date(entry.before),
            "kept": .object(
                entry.kept.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: .int(Int64($0.value))) }),
        ])
    }
}
