import Base
import CLI
import Subscriptions

/// What is known of a customer, on a page for people. Everything on it may come from outside.
package struct CustomerPage {
    private let customer: CustomerExplanation
    private let spending: Spending
    private let timeline: Timeline
    /// So many of the newest entries are shown; nil: all.
    private let limit: Int?
    /// So many of the newest entries are left out.
    private let skipped: Int
    private let isBold: Bool
    private let screen: Screen?

    /// - Parameters:
    ///   - spending: of the same purchases.
    ///   - screen: nil for a file or a pipe.
    package init(
        _ customer: CustomerExplanation, _ timeline: Timeline, spending: Spending = Spending([]), limit: Int?,
        skipping skipped: Int = 0, isBold: Bool = false, on screen: Screen? = nil
    ) {
        self.customer = customer
        self.spending = spending
        self.timeline = timeline
        self.limit = limit
        self.skipped = skipped
        self.isBold = isBold
        self.screen = screen
    }

    package var text: String {
        let sections = [
            head.flatMap(fitted), section("ids", ids), section("attributes", attributes),
            section("entitlements", entitlements),
            section("subscriptions", purchases), section("bought once", oneTimePurchases), section("money", money),
            section("what happened", history, remark: remark),
        ]
        return sections.filter { !$0.isEmpty }.map { $0.joined(separator: "\n") }.joined(separator: "\n\n") + "\n"
    }

    /// - Parameter remark: what stands behind the title.
    private func section(_ title: String, _ lines: [String], remark: String = "") -> [String] {
        guard !lines.isEmpty else { return [] }
        return [bold(title.uppercased()) + remark]
            + lines.flatMap { $0.isEmpty ? [""] : fitted("  \(Terminal.harmless($0))") }
    }

    /// A line, on a screen broken so that what goes on stands further right than where it began.
    private func fitted(_ line: String) -> [String] {
        guard let screen, line.count > screen.columns else { return [line] }
        let indent = String(line.prefix { $0 == " " })
        let rest = indent + "    "
        let parts = line.dropFirst(indent.count).description.lines(ofWidth: max(20, screen.columns - rest.count))
        return parts.enumerated().map { ($0.offset == 0 ? indent : rest) + $0.element }
    }

    private func bold(_ text: String) -> String { isBold ? "\u{1B}[1m\(text)\u{1B}[0m" : text }

    private var head: [String] {
        let profile = customer.profile
        return [
            bold(Terminal.harmless(profile.originalAppUserID)) + (profile.isAnonymous ? " (anonymous)" : ""),
            "first seen \(time(profile.firstSeen)), last change \(time(profile.lastSeen)); all times in UTC",
        ]
    }

    /// On a screen with the local time and how long ago it was.
    private func time(_ instant: Int64) -> String { DisplayText.time(instant) + (screen?.remark(instant) ?? "") }

    private var ids: [String] {
        let profile = customer.profile
        return CustomerPage.columns(
            profile.appUserIDs.map { [$0, $0 == profile.originalAppUserID ? "original" : "alias"] })
    }

    private var attributes: [String] {
        CustomerPage.columns(
            (customer.profile.attributes?.members ?? []).map { [$0.name, $0.value["value"]?.stringValue ?? ""] })
    }

    private var entitlements: [String] {
        CustomerPage.columns(customer.entitlements.map { [$0.name, $0.sentence] })
    }

    private var purchases: [String] {
        let blocks = customer.purchases.map { purchase in
            [purchase.title] + CustomerPage.columns(purchase.lines.map { [$0.label, $0.text] }).map { "  " + $0 }
        }
        return Array(blocks.joined(separator: [""]))
    }

    private var oneTimePurchases: [String] {
        CustomerPage.columns(
            customer.oneTimePurchases.map { item in
                [
                    item.productID, DisplayText.time(item.bought), item.price ?? "", item.state, item.transactionID,
                    "\(item.key.app), \(item.key.environment.rawValue)",
                ]
            })
    }

    private var money: [String] {
        CustomerPage.columns(
            spending.totals.map { total in
                let payments = total.payments == 1 ? "1 payment" : "\(total.payments) payments"
                guard let currency = total.currency else {
                    return ["\(payments) without a price", "", total.environment.rawValue]
                }
                func amount(_ milliunits: Int64) -> String {
                    "\(Money.text(milliunits: milliunits, currency: currency)) \(currency)"
                }
                let back = total.refunds == 0 ? "" : ", \(amount(total.refunded)) of them went back"
                return [
                    amount(total.net), "\(amount(total.paid)) in \(payments)\(back)", total.environment.rawValue,
                ]
            })
    }

    // MARK: - What happened

    private var remark: String {
        switch timeline.order {
        case .happened: ", in the order of signing"
        case .heard: ", in the order of arrival"
        }
    }

    private var history: [String] {
        let (entries, earlier) = timeline.newest(limit ?? .max, skipping: skipped)
        let hint = earlier == 1 ? "1 earlier step is" : "\(earlier) earlier steps are"
        let isOne = Set(timeline.entries.compactMap(\.purchase)).count < 2
        let before = earlier > 0 ? ["\(hint) not shown here: --all shows everything"] : []
        let more = earlier > 0 ? ["the steps before these: --skip \(skipped + entries.count)"] : []
        return before + more + entries.flatMap { lines(of: $0, namesPurchase: !isOne) }
    }

    private func lines(of entry: TimelineEntry, namesPurchase: Bool) -> [String] {
        let purchase = entry.purchase.map { "  [\(entry.productID ?? ""), \($0.originalTransactionID)]" } ?? ""
        let date = entry.date(in: timeline.order)
        let distance = screen.map { ", \(RelativeTime.phrase(date, now: $0.now))" } ?? ""
        let title = "\(DisplayText.time(date))\(distance)  \(entry.title)\(otherDate(of: entry))"
        return [title + (namesPurchase ? purchase : "")] + entry.changes.map { "    \($0.sentence)" }
            + entry.events.flatMap(lines)
    }

    /// The date that the order does not show, where it differs by much.
    private func otherDate(of entry: TimelineEntry) -> String {
        guard let signed = entry.signed, entry.isLate else { return "" }
        switch timeline.order {
        case .happened: return " (came \(DisplayText.time(entry.instant)))"
        case .heard: return " (signed \(DisplayText.time(signed)))"
        }
    }

    private func lines(of event: TimelineEntry.Event) -> [String] {
        let name = "    → \(event.type)\(event.reason.map { " (\($0))" } ?? "")"
        guard let trace = event.trace else { return ["\(name): not on record"] }
        guard trace.isKept else { return ["\(name): no longer on record"] }
        guard !trace.deliveries.isEmpty else { return ["\(name): no endpoint selects it"] }
        guard let only = trace.deliveries.first, trace.deliveries.count == 1 else {
            return ["\(name):"] + trace.deliveries.map { "        \(CustomerPage.sentence($0, of: trace))" }
        }
        return ["\(name): \(CustomerPage.sentence(only, of: trace))"]
    }

    private static func sentence(_ delivery: DeliveryTrace, of event: EventTrace) -> String {
        let answer = delivery.lastStatus.map { ", last answer \($0)" } ?? ""
        let attempts = delivery.attempts == 1 ? "1 attempt" : "\(delivery.attempts) attempts"
        let reason = delivery.reason.map { ": \($0)" } ?? ""
        switch delivery.state {
        case "delivered":
            let effort = delivery.attempts > 1 ? " after \(attempts)" : ""
            let late = event.lateDelivery(delivery).map { " \(DisplayText.time($0))" } ?? ""
            return "delivered to \(delivery.endpoint)\(late)\(effort)"
        case "pending":
            let next = delivery.next.map { ", next try \(DisplayText.time($0))" } ?? ""
            return "pending for \(delivery.endpoint), \(attempts) so far\(answer)\(next)"
        case "dead": return "GIVEN UP for \(delivery.endpoint) after \(attempts)\(answer)\(reason)"
        default: return "\(delivery.state) for \(delivery.endpoint)\(reason)"
        }
    }

    /// Cells padded so that columns begin below each other.
    private static func columns(_ rows: [[String]]) -> [String] {
        let count = rows.map(\.count).max() ?? 0
        let widths = (0..<count).map { column in
            rows.compactMap { $0.dropFirst(column).first.map { Terminal.harmless($0).count } }.max() ?? 0
        }
        return rows.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: max(0, width - Terminal.harmless(cell).count) + 2)
            }
            while line.hasSuffix(" ") { line.removeLast() }
            return line
        }
    }
}
