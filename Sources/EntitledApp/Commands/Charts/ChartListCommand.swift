import Base
import CLI
import Operator

/// `entitled charts list`.
struct ChartListCommand: ReadingCommand {
    static let configuration = CommandConfiguration("list", "List the charts.", examples: ["charts list"])

    func run(_ context: CommandContext) throws -> Int32 {
        if context.json {
            let rows = ChartName.allCases.map { ChartSummary(name: $0).json }
            context.terminal.document(.object(["charts": .array(rows)]))
            return 0
        }
        var table = TextTable([.key("name"), .prose("what it shows")])
        for name in ChartName.allCases { table.add([name.rawValue, name.summary]) }
        context.terminal.table(table)
        return 0
    }
}
