import Base
import CLI
import Schemas

/// What a person sees of a migration while it lasts: progress on one line of a terminal, and a line for each thing that took long.
struct MigrationDisplay {
    private let context: CommandContext
    private var bar: ProgressBar
    private var wait = MigrationWait()

    init(_ context: CommandContext) {
        self.context = context
        bar = ProgressBar(context.terminal)
    }

    mutating func clear() { bar.clear() }

    mutating func show(_ event: Migrator.Event) {
        switch event {
        case .waiting(let holders): show(waitingFor: holders)
        case .applied:
            wait = MigrationWait()
            bar.clear()
        case .step(let step):
            wait = MigrationWait()
            bar.show(step.isFinished ? 1 : 0, "version \(step.version), \(step.name): \(step.rows) rows")
        }
    }

    mutating func show(_ event: Distribution.Event) {
        switch event {
        case .waiting(let holders): return show(waitingFor: holders)
        case .begun(let tables, let rows, let bytes):
            guard tables > 0 else { break }
            let seconds = bytes / MigrationDisplay.rate
            print(
                "copying \(tables) tables with about \(rows) rows, \(bytes >> 20) MB: about "
                    + "\(MigrationDisplay.text(.seconds(seconds + 1))) at \(MigrationDisplay.rate >> 20) MB a second, in which writers wait"
            )
        case .copying(let name, let share): bar.show(share, name)
        case .copied(let name, let rows, let bytes, let took):
            print("copied \(name): about \(rows) rows, \(bytes >> 20) MB, \(MigrationDisplay.text(took))")
        case .committed(let took): print("all tables are placed; writers waited for \(MigrationDisplay.text(took))")
        case .removed(let bytes): print("removed what the coordinator had of these tables: \(bytes >> 20) MB")
        }
        wait = MigrationWait()
    }

    /// Bytes a second, indexes included, as measured on two cores; larger servers are faster.
    private static let rate: Int64 = 20 << 20

    private static func text(_ time: Duration) -> String {
        let seconds = (time.milliseconds + 500) / 1000
        return seconds < 120 ? "\(seconds) s" : "\(seconds / 60) min \(seconds % 60) s"
    }

    private mutating func print(_ line: String) {
        bar.clear()
        if !context.json { context.terminal.print(line) }
    }

    private mutating func show(waitingFor holders: [String]) {
        if let line = wait.line(holders, now: .now) {
            bar.clear()
            context.terminal.complain(line)
        }
        bar.show(0, "waiting for locks that others hold")
    }
}
