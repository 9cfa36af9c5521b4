import Base
import CLI
import Customers
import Daemon
import Glibc

/// What `entitled export …` writes to: standard output, or a file of its own.
struct FeedOutput: ParsableArguments {
    @Option("--from", .moment, "Start of the period, inclusive; default: no start.")
    private var from: TimeArgument?
    @Option("--to", .moment, "End of the period, exclusive; default: now.") private var to: TimeArgument?
    @Option("--format", .choice(of: Format.self, "FORMAT"), "Format; default: csv.") private var format: Format = .csv
    @Option("--delimiter", .choice(of: Delimiter.self, "NAME"), "Character between fields; default: comma.")
    private var delimiter: Delimiter = .comma
    @Flag("--attributes", "Include attributes of customers, which are personal data.") var showsAttributes: Bool
    @Flag("--spreadsheet", "Put a ' before texts that a spreadsheet would take for formulas.")
    private var isForSpreadsheet: Bool
    @Option(
        "--output", .file,
        "New file to write to, or a folder for a file named by the time, readable by you alone; default: standard output."
    )
    private var path: String?
    @Flag("--force", "Replace the file of --output if there is one, once everything is written.")
    private var replaces: Bool

    enum Format: String, InputValue, CaseIterable { case csv }

    enum Delimiter: String, InputValue, CaseIterable {
        case comma
        case semicolon
        case tab

        var text: String {
            switch self {
            case .comma: ","
            case .semicolon: ";"
            case .tab: "\t"
            }
        }
    }

    /// The time between `--from` and `--to`, in ms; all of it without them.
    func time() throws -> Range<Int64> {
        let now = SystemClock().now()
        let from = try from?.milliseconds(ofOption: "--from", now: now) ?? 0
        let to = to?.milliseconds(now: now) ?? .max
        guard from < to else { throw UsageError("--to must be after --from") }
        return from..<to
    }

    /// - Parameters:
    ///   - name: what the rows are, by which a file in a folder is called.
    ///   - body: writes rows by the function that it gets, and returns how many they were.
    func write(
        _ name: String, _ columns: [String], _ context: CommandContext,
        _ body: (([[String]]) throws -> Void) throws -> Int64
    ) throws -> Int32 {
        guard let place = path else {
            if context.json { throw FeedOutput.unseparated }
            if replaces { throw UsageError("--force needs --output") }
            context.terminal.write(bytes([columns]))
            _ = try body { rows in context.terminal.write(bytes(rows)) }
            return 0
        }
        let path = FeedOutput.file(place, name)
        let file = try NewFile(path, replaces: replaces)
        if context.json, file.isStandardOutput { throw FeedOutput.unseparated }
        try file.write(bytes([columns]))
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

    /// In a folder: named as RevenueCat names its files, by the time in seconds since 1970, by which readers of several files
    /// tell the newest row of a transaction.
    private static func file(_ path: String, _ name: String) -> String {
        var status = stat()
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return path }
        return "\(path)\(path.hasSuffix("/") ? "" : "/")\(name)_\(SystemClock().now() / 1000).csv"
    }

    private static let unseparated = UsageError(
        "--json needs --output with a file, because the rows go to standard output")

    private func bytes(_ rows: [[String]]) -> [UInt8] {
        Array(rows.map { CSVTable.line($0, isRaw: !isForSpreadsheet, delimiter: delimiter.text) }.joined().utf8)
    }
}
