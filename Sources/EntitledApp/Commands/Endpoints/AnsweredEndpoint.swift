import Base
import CLI

/// Endpoints as the operator API answers, for people and programs.
enum AnsweredEndpoint {
    static let help =
        "With --url, URLs are shown without user and query, `unreadable` (what no key of the host opens) is missing,"
        + " and --json of `show` prints the answer of the operator API."

    /// Of a list; how long answers took in ms, and of how many of the newest deliveries that arrived.
    static let columns: [TextTable.Column] = [
        .key("id"), "state", "health", .prose("url"), .prose("gets"), "ordering", .number("p50 ms"), .number("p95 ms"),
        .number("of"),
    ]

    static func show(list endpoints: [JSON], _ context: CommandContext) {
        guard !context.json else { return context.terminal.document(.object(["endpoints": .array(endpoints)])) }
        guard !endpoints.isEmpty else { return context.terminal.print("no endpoints yet") }
        var table = TextTable(columns)
        for endpoint in endpoints {
            table.add([
                endpoint.cell("id"), state(endpoint), endpoint["health"]?.cell("state") ?? "", endpoint.cell("url"),
                filters(endpoint), endpoint.cell("ordering"), endpoint["latency"]?["answered"]?.cell("p50_ms") ?? "",
                endpoint["latency"]?["answered"]?.cell("p95_ms") ?? "", endpoint["latency"]?.cell("deliveries") ?? "",
            ])
        }
        context.terminal.table(table)
    }

    private static func state(_ endpoint: JSON) -> String {
        let code = endpoint.cell("disabled_code")
        return endpoint.cell("state") + (code.isEmpty ? "" : " (\(code))")
    }

    private static func filters(_ endpoint: JSON) -> String {
        if endpoint["is_operations"]?.boolValue == true { return "operations events" }
        var parts = ["apps", "environments", "events"].map(endpoint.cell).filter { !$0.isEmpty }
        let excepted = endpoint.cell("excepted_events")
        if !excepted.isEmpty { parts.append("all but \(excepted)") }
        return parts.isEmpty ? "everything" : parts.joined(separator: "; ")
    }

    /// Empty where nothing arrived lately.
    static func latency(_ latency: JSON, _ context: CommandContext) -> String {
        guard let deliveries = latency["deliveries"]?.intValue else { return "" }
        func text(_ name: String) -> String {
            let value = latency[name] ?? .null
            return "p50 \(value.cell("p50_ms")) ms, p95 \(value.cell("p95_ms")) ms"
        }
        return "answers \(text("answered")); from making to arrival \(text("delivered")); "
            + "of the newest \(deliveries) since \(AnswerPage.time(latency, "since", context))"
    }

    static func show(_ bytes: [UInt8], _ context: CommandContext) throws {
        guard !context.json else { return try context.document(bytes) }
        let endpoint = try JSON(ordered: bytes)
        let health = endpoint["health"] ?? .null
        func time(_ name: String) -> String { AnswerPage.time(health, name, context) }
        let failure = health.cell("last_failure")
        let schedule = endpoint["retry_schedule"] ?? .null
        let backlog = ["pending", "held", "blocked"].map { "\(AnswerPage.count(endpoint["backlog"]?[$0])) \($0)" }
        AnswerPage.record(
            [
                ("endpoint", endpoint.cell("id")), ("url", endpoint.cell("url")), ("state", state(endpoint)),
                ("reason", endpoint.cell("disabled_reason")), ("health", health.cell("state")),
                ("failing since", time("failing_since")), ("last success", time("last_success_at")),
                ("last failure", failure.isEmpty ? "" : "\(failure) at \(time("last_failure_at"))"),
                ("disabled at", time("disables_at")), ("backlog", backlog.joined(separator: ", ")),
                ("latency", latency(endpoint["latency"] ?? .null, context)),
                ("gets", filters(endpoint)), ("format", endpoint.cell("format")),
                ("ordering", endpoint.cell("ordering")),
                ("authorization", endpoint["authorization"]?.boolValue == true ? "set" : "none"),
                ("headers", endpoint.cell("headers")),
                ("retries", "after \(schedule.cell("waits")); \(schedule.cell("attempts")) attempts"),
                ("added", AnswerPage.time(endpoint, "created_at", context)),
            ], context)
    }
}
