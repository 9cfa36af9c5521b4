import Base
import CLI

/// `entitled status`.
struct StatusCommand: ReadingCommand, RemoteCommand {
    static let configuration = CommandConfiguration(
        "status", "Show the installation at a glance: findings, workers and lanes, backlogs, endpoints.",
        discussion:
            "Shows what the key's role may see. --json prints the answers of the operator API as `overview`, `workers`"
            + " and `endpoints`, null for what the role may not see. The backlog covers the first"
            + " \(StatusCommand.shown)"
            + " endpoints.",
        examples: ["status", "status --watch 5s", "status --url https://console.example.com --json"])

    /// Endpoints whose backlog is counted.
    private static let shown = 20

    func run(_ context: CommandContext) throws -> Int32 {
        let source = try context.operators()
        let sections = try source.json(["me"])["sections"]?.arrayValue?.compactMap(\.stringValue) ?? []
        let overview = try source.json(["overview"])
        let workers = sections.contains("workers") ? try source.json(["workers"]) : nil
        let endpoints = try sections.contains("endpoints") ? source.all(["endpoints"]).items : nil
        let shown = try endpoints.map { endpoints in
            try endpoints.prefix(StatusCommand.shown).map { endpoint in
                try source.json(["endpoints", endpoint.cell("id")])
            }
        }
        guard !context.json else {
            context.terminal.document(
                .object([
                    "overview": overview, "workers": workers ?? .null,
                    "endpoints": shown.map { .array($0) } ?? .null,
                ]))
            return 0
        }
        show(overview, context)
        if let workers { show(workers: workers, context) }
        if let shown { show(endpoints: shown, of: endpoints?.count ?? 0, context) }
        return 0
    }

    private func show(_ overview: JSON, _ context: CommandContext) {
        let findings = overview["findings"]?.arrayValue ?? []
        if findings.isEmpty { context.terminal.print("all is well") }
        for finding in findings {
            context.terminal.paragraph(
                Terminal.harmless("\(finding.cell("level") == "error" ? "ERROR  " : "warning") \(finding.cell("text"))")
            )
        }
        context.terminal.print("")
        let notifications = overview["notifications"] ?? .null
        let deliveries = overview["deliveries"] ?? .null
        let oldest = AnswerPage.time(notifications, "oldest_pending_at", context)
        let deadline = AnswerPage.time(overview["refunds"] ?? .null, "next_deadline", context)
        let lanes = overview["workers"] ?? .null
        AnswerPage.record(
            (notifications["sources"]?.arrayValue ?? []).map { source in
                let last = AnswerPage.time(source, "last_received_at", context)
                return (
                    "last notification",
                    "\(source.cell("app")) \(source.cell("environment")): \(last.isEmpty ? "none in 45 days" : last)"
                )
            } + [
                ("to be applied", oldest.isEmpty ? "nothing waits" : waiting(notifications, oldest: oldest)),
                ("held", AnswerPage.count(notifications["held"])),
                (
                    "webhooks",
                    "\(AnswerPage.count(deliveries["pending"])) pending, \(AnswerPage.count(deliveries["held"])) held"
                ),
                (
                    "refund questions",
                    AnswerPage.count(overview["refunds"]?["open"])
                        + (deadline.isEmpty ? "" : ", the next ends \(deadline)")
                ),
                ("running jobs", AnswerPage.count(overview["jobs"]?["running"])),
                (
                    "lanes",
                    "\(lanes.cell("lanes_owned")) of \(lanes.cell("lanes")) owned, by \(lanes.cell("alive")) workers"
                ),
            ], context)
    }

    /// `12, oldest 14:03; lane 17: 8, lane 3: 4`.
    private func waiting(_ notifications: JSON, oldest: String) -> String {
        let lanes = (notifications["lanes"]?.arrayValue ?? []).prefix(3).map { lane in
            "lane \(lane.cell("lane")): \(AnswerPage.count(lane["pending"]))"
        }
        let text = "\(AnswerPage.count(notifications["pending"])), oldest \(oldest)"
        return lanes.isEmpty ? text : "\(text); \(lanes.joined(separator: ", "))"
    }

    private func show(workers: JSON, _ context: CommandContext) {
        var table = TextTable([.id("worker"), "host", .number("lanes"), .time("seen")])
        for worker in workers["items"]?.arrayValue ?? [] {
            table.add(["id", "host", "lanes", "seen_at"].map(worker.cell))
        }
        guard !table.isEmpty else { return }
        context.terminal.print("")
        context.terminal.table(table)
    }

    private func show(endpoints: [JSON], of count: Int, _ context: CommandContext) {
        var table = TextTable([
            .key("endpoint"), "health", .number("pending"), .number("held"), .number("blocked"), .time("last success"),
            .prose("url"),
        ])
        for endpoint in endpoints {
            func waiting(_ name: String) -> String { AnswerPage.count(endpoint["backlog"]?[name]) }
            let health = endpoint["health"] ?? .null
            table.add([
                endpoint.cell("id"), health.cell("state"), waiting("pending"), waiting("held"), waiting("blocked"),
                health.cell("last_success_at"), endpoint.cell("url"),
            ])
        }
        guard !table.isEmpty else { return }
        context.terminal.print("")
        context.terminal.table(table)
        if count > endpoints.count { context.terminal.print("\n\(count - endpoints.count) more endpoints") }
    }
}
