import Base
import CLI
import Customers
import Daemon

/// What `entitled export …` writes to: standard output, or a file of its own.
struct FeedOutput: ParsableArguments {
    @Option("--from", .moment, "Start of the period, inclusive; default: no start.")
    private var from: TimeArgument?
    @Option("--to", .moment, "End of the period, exclusive; default: now.") private var to: TimeArgument?
    @Option("--format", .choice(of: Format.self, "FORMAT"), "Format; default: csv.") private var format: Format = .csv
    @Flag("--attributes", "Include attributes of customers, which are personal data.") var showsAttributes: Bool
    @Flag("--spreadsheet", "Put a ' before texts that a spreadsheet would take for formulas.")
    private var isForSpreadsheet: Bool
    @Option("--output", .file, "New file to write to, readable by you alone; default: standard output.")
    private var path: String?
    @Flag("--force", "Replace the file of --output if there is one, once everything is written.")
    private var replaces: Bool

    enum Format: String, InputValue, CaseIterable { case csv }

    /// The time between `--from` and `--to`, in ms; all of it without them.
    func time() throws -> Range<Int64> {
        let now = SystemClock().now()
        let from = try from?.milliseconds(ofOption: "--from", now: now) ?? 0
        let to = to?.milliseconds(now: now) ?? .max
        guard from < to else { throw UsageError("--to must be after --from") }
        return from..<to
    }

    /// - Parameter body: writes rows by the function that it gets, and returns how many they were.
    func write(
        _ columns: [String], _ context: CommandContext, _ body: (([[String]]) throws -> Void) throws -> Int64
    ) throws -> Int32 {
        guard let path else {
            if context.json { throw FeedOutput.unseparated }
            if replaces { throw UsageError("--force needs --output") }
            context.terminal.write(Array(CSVTable.line(columns).utf8))
            _ = try body { rows in context.terminal.write(bytes(rows)) }
            return 0
        }
        let file = try NewFile(path, replaces: replaces)
        if context.json, file.isStandardOutput { throw FeedOutput.unseparated }
        try file.write(Array(CSVTable.line(columns).utf8))
        let count = try body { rows in try file.write(bytes(rows)) }
        try file.finish()
        if file.isStandardOutput { return 0 }
        if context.json {
            context.terminal.document(.object(["file": .string(path), "rows": .int(count)]))
        } else {
            context.terminal.print("\(count) rows in \(Terminal.harmless(path))")
        }
        return 0
    }

    private static let unseparated = UsageError(
        "--json needs --output with a file, because the rows go to standard output")

    private func bytes(_ rows: [[String]]) -> [UInt8] {
        Array(rows.map { CSVTable.line($0, isRaw: !isForSpreadsheet) }.joined().utf8)
    }
}
