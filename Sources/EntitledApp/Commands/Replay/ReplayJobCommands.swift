import Base
import CLI
import Database
import Postgres
import Schemas

/// `entitled replay list`, `show` and `cancel`.
enum ReplayJobCommands {
    struct List: Command {
        static let declaration = ReplayOptions.list
        private let limit: Int

        init(_ parsed: ParsedArguments) {
            limit = parsed.integer("--limit").map { Int(clamping: $0) } ?? ListLimit.standard
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            let jobs = try JobTable.list(atMost: limit, on: connection)
            if context.json {
                context.terminal.document(.object(["replays": .array(jobs.map(\.document))]))
                return 0
            }
            guard !jobs.isEmpty else {
                context.terminal.print("no replays yet; see: entitled replay webhooks --help")
                return 0
            }
            var table = TextTable([
                .key("id"), .time("made"), "kind", "state", .number("done"), .number("queued"), .prose("about"),
            ])
            for job in jobs {
                table.add([
                    String(job.id), Timestamp.text(job.created), job.kind, job.state.rawValue,
                    "\(Int(job.fraction * 100)) %", String(job.counts.queued), Terminal.harmless(job.request),
                ])
            }
            context.terminal.table(table)
            return 0
        }
    }

    struct Show: Command {
        static let declaration = ReplayOptions.show
        private let options: ReplayOptions.One

        init(_ parsed: ParsedArguments) {
            options = ReplayOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.api)
            guard let job = try JobTable.find(options.id, on: connection) else {
                throw ReplayJobCommands.noSuch(options.id)
            }
            ReplayJobCommands.show(job, context)
            return 0
        }
    }

    struct Cancel: Command {
        static let declaration = ReplayOptions.cancel
        private let options: ReplayOptions.One

        init(_ parsed: ParsedArguments) {
            options = ReplayOptions.One(parsed)
        }

        func run(_ context: CommandContext) throws -> Int32 {
            let connection = try DatabaseAccess(try context.configuration()).connect(.worker)
            guard let job = try JobTable.cancel(options.id, on: connection) else {
                guard let job = try JobTable.find(options.id, on: connection) else {
                    throw ReplayJobCommands.noSuch(options.id)
                }
                throw CommandFailure("replay \(job.id) is over already: \(job.state.rawValue)")
            }
            ReplayJobCommands.show(job, context)
            return 0
        }
    }

    private static func noSuch(_ id: Int64) -> CommandFailure {
        CommandFailure("there is no replay \(id); see: entitled replay list")
    }

    private static func show(_ job: Job, _ context: CommandContext) {
        guard !context.json else {
            context.terminal.document(job.document)
            return
        }
        context.terminal.print(
            """
            replay   \(job.id) of \(job.kind): \(Terminal.harmless(job.request))
            state    \(job.state.rawValue)\(job.error.map { ": \(Terminal.harmless($0))" } ?? "")
            done     \(Int(job.fraction * 100)) %
            matched  \(job.counts.matched)
            queued   \(job.counts.queued)
            skipped  \(job.counts.skipped)
            rate     \(job.rate.map { "\($0) each second" } ?? "as fast as the consumer takes them")
            made     \(context.terminal.time(job.created)) by \(Terminal.harmless(job.madeBy))
            \(job.finished == nil ? "moved  " : "ended  ")  \(context.terminal.time(job.finished ?? job.updated))
            """)
    }
}

extension Job {
    fileprivate var document: JSON {
        .object([
            "id": .int(id), "kind": .string(kind), "state": .string(state.rawValue), "error": .text(error),
            "request": .string(request), "parameters": parameters, "matched": .int(counts.matched),
            "queued": .int(counts.queued), "skipped": .int(counts.skipped), "done": .double(fraction),
            "rate": .integer(rate.map { Int64($0) }), "made_by": .string(madeBy), "created_at": .date(created),
            "updated_at": .date(updated), "finished_at": .date(finished),
        ])
    }
}
