import Base
import CLI
import Schemas

/// What `entitled migrate --status` and `--dry-run` show.
struct MigrationPage {
    let plan: MigrationPlan
    let isDry: Bool
    /// What is half-made of a cluster, as a sentence; nil: nothing.
    let cluster: String?
    /// Of the roles' privileges; empty unless `isDry`.
    let differences: [PrivilegeGranting.Statement]

    private static let locks = "ACCESS EXCLUSIVE on every table, for the time of the transaction"

    // MARK: - For machines

    var document: JSON {
        .object([
            "version": .integer(plan.found.map { Int64($0.version) }),
            "oldest_program": .integer(plan.found?.oldestProgram.map { Int64($0) }),
            "program": .object([
                "oldest": .int(Int64(SchemaVersion.oldest)), "current": .int(Int64(SchemaVersion.current)),
            ]),
            "fits": .bool(plan.found.map { SchemaVersion.fit($0) == .fits } ?? false),
            "missing": .array(plan.entries.map(entry)),
            "steps": .array(
                plan.steps.map {
                    .object([
                        "version": .int(Int64($0.version)), "name": .string($0.name), "rows": .int($0.rows),
                        "finished": .bool($0.isFinished),
                    ])
                }),
            "cluster": cluster.map { .string($0) },
            "privileges": isDry ? .strings(differences.map(\.sql)) : nil,
        ])
    }

    private func entry(_ entry: MigrationPlan.Entry) -> JSON {
        .object([
            "version": .int(Int64(entry.migration.version)), "name": .string(entry.migration.name),
            "steps": .strings(entry.migration.steps.map(\.name)),
            "locks": isDry ? .string(MigrationPage.locks) : nil,
            "tables": isDry
                ? .array(
                    entry.tables.map {
                        .object(["name": .string($0.name), "rows": .int($0.rows), "bytes": .int($0.bytes)])
                    }) : nil,
        ])
    }

    // MARK: - For people

    func print(on terminal: Terminal) {
        terminal.paragraph(state)
        if !plan.entries.isEmpty {
            var table = TextTable(
                [.number("version"), .key("name")] + (isDry ? [.prose("tables it names")] : []) + [.prose("afterwards")]
            )
            for entry in plan.entries {
                let tables = entry.tables.map { "\($0.name) (about \($0.rows) rows, \($0.bytes >> 20) MB)" }
                table.add(
                    ["\(entry.migration.version)", entry.migration.name]
                        + (isDry ? [tables.isEmpty ? "none that exists" : tables.joined(separator: ", ")] : [])
                        + [entry.migration.steps.map(\.name).joined(separator: ", ")])
            }
            terminal.print("missing:")
            terminal.table(table)
            if isDry { terminal.paragraph("locks: \(MigrationPage.locks)") }
        }
        for step in plan.steps where !step.isFinished {
            terminal.paragraph(
                "unfinished: \(step.name) of version \(step.version), \(step.rows) rows so far; `entitled migrate` continues it"
            )
        }
        if let cluster { terminal.paragraph(cluster) }
        for statement in differences { terminal.paragraph("would change privileges: \(statement.sql)") }
    }

    private var state: String {
        let program = "this program works with \(SchemaVersion.oldest) to \(SchemaVersion.current)"
        guard let found = plan.found else { return "the database has no schema; \(program)" }
        let oldest = found.oldestProgram.map { ", which programs of schema \($0) and newer work with" } ?? ""
        return "the schema has version \(found.version)\(oldest); \(program)"
    }
}
