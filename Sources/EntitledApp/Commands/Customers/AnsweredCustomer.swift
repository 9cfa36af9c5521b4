import Base
import CLI
import Subscriptions

/// A customer as the operator API answers, on a page for people.
struct AnsweredCustomer {
    private let customer: JSON
    private let timeline: AnswerList
    private let order: TimelineOrder

    /// - Parameters:
    ///   - id: any id of the customer.
    ///   - since: the beginning of the timeline; nil: whole.
    ///   - steps: the most of the timeline.
    init(
        of id: String, order: TimelineOrder, since: TimeArgument?, steps: Int, from source: any OperatorSource
    ) throws {
        customer = try source.json(["customers", id])
        timeline = try source.list(
            ["customers", id, "timeline"], [("order", order.rawValue), ("since", since?.text)], after: nil, limit: steps
        )
        self.order = order
    }

    func show(_ context: CommandContext) -> Int32 {
        guard context.json else {
            context.terminal.print(text(context))
            return 0
        }
        context.terminal.document(
            .object(
                (customer.members ?? []) + [
                    JSON.Member(name: "timeline", value: .array(timeline.items)),
                    JSON.Member(name: "timeline_order", value: .string(order.rawValue)),
                ]))
        return 0
    }

    private func text(_ context: CommandContext) -> String {
        let profile = customer["customer"] ?? .null
        let time: (String) -> String = { AnswerPage.time(profile, $0, context) }
        let sections = [
            [
                Terminal.harmless(profile.cell("original_app_user_id"))
                    + (profile["anonymous"]?.boolValue == true ? " (anonymous)" : ""),
                "first seen \(time("first_seen")), last change \(time("last_seen"))",
            ] + taken,
            section("ids", profile["app_user_ids"]?.arrayValue?.compactMap(\.stringValue) ?? []),
            section(
                "attributes",
                (customer["attributes"]?.arrayValue ?? []).map { "\($0.cell("key"))  \($0.cell("value"))" }),
            section(
                "entitlements",
                (customer["entitlements"]?.members ?? []).map { "\($0.name)  \($0.value.cell("text"))" }),
            section("purchases", (customer["purchases"]?.arrayValue ?? []).map { purchase(of: $0, context) }),
            section("money", (customer["spending"]?.arrayValue ?? []).map(AnsweredCustomer.total)),
            section("what happened", timeline.items.flatMap { step(of: $0, context) } + rest),
        ]
        return sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n")
    }

    /// What was taken for what, and what was left out.
    private var taken: [String] {
        let resolved = customer["resolved"] ?? .null
        var lines: [String] = []
        if resolved.cell("match") != "exact", !resolved.cell("app_user_id").isEmpty {
            lines.append("\(resolved.cell("given")) is \(resolved.cell("app_user_id"))")
        }
        let near = resolved.cell("differ_only_in_case")
        if !near.isEmpty { lines.append("ids that differ only in case: \(near)") }
        if customer["is_cut"]?.boolValue == true { lines.append("there are more purchases than are shown") }
        let unread = customer.cell("unread_purchases")
        if !unread.isEmpty { lines.append("purchases with too many facts to be shown: \(unread)") }
        return lines.map(Terminal.harmless)
    }

    private var rest: [String] {
        timeline.next == nil ? [] : ["earlier steps are not shown here: --all shows everything"]
    }

    private func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : [title.uppercased()] + lines.map { "  \(Terminal.harmless($0))" }
    }

    private func purchase(of row: JSON, _ context: CommandContext) -> String {
        let until = row.instant("grace_expires_at") ?? row.instant("expires_at")
        let obstacle = row.cell("will_not_renew_because")
        return "\(row.cell("product_id"))  \(row.cell("status")) until \(until.map(context.terminal.time) ?? "forever")"
            + "\(obstacle.isEmpty ? ", will renew" : ", will not renew: \(obstacle)")"
            + "  \(row.cell("original_transaction_id")) (\(row.cell("app")), \(row.cell("environment")))"
    }

    private static func total(_ total: JSON) -> String {
        let currency = total.cell("currency")
        let payments = total.cell("payments") == "1" ? "1 payment" : "\(total.cell("payments")) payments"
        guard !currency.isEmpty else { return "\(payments) without a price  \(total.cell("environment"))" }
        let back = total.cell("refunds") == "0" ? "" : ", \(total.cell("refunded")) \(currency) of them went back"
        return "\(total.cell("net")) \(currency)  \(total.cell("paid")) \(currency) in \(payments)\(back)"
            + "  \(total.cell("environment"))"
    }

    private func step(of step: JSON, _ context: CommandContext) -> [String] {
        let date = step.instant(order == .happened ? "signed_at" : "arrived_at") ?? step.instant("arrived_at")
        let purchase = step.cell("original_transaction_id")
        let head =
            "\(date.map(context.terminal.time) ?? "")  \(step.cell("title"))"
            + (purchase.isEmpty ? "" : "  [\(step.cell("product_id")), \(purchase)]")
        let changes = (step["changes"]?.arrayValue ?? []).map { "    \($0.cell("text"))" }
        let events = (step["events"]?.arrayValue ?? []).map { event in
            let deliveries = (event["deliveries"]?.arrayValue ?? []).map { delivery in
                let answer = delivery.cell("last_status")
                return
                    "\(delivery.cell("state")) for \(delivery.cell("endpoint_id")), \(delivery.cell("attempts")) attempts"
                    + (answer.isEmpty ? "" : ", last answer \(answer)")
            }
            let fate = deliveries.isEmpty ? "no delivery on record" : deliveries.joined(separator: "; ")
            return "    → \(event.cell("type")) \(event.cell("id")): \(fate)"
        }
        return [head] + changes + events
    }
}
