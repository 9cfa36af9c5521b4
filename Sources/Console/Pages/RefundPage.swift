import Base
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// Apple's questions about refunds: those that can be answered, the most urgent first, and what came of the others.
enum RefundPage {
    static let routes = [
        ConsoleRoute("GET", "/refunds") { call in try call.export("refunds") ?? .page(try page(call)) }
    ]

    /// Of open questions on one page.
    private static let mostOpen = 8
    /// A question is marked that ends within it; ms.
    private static let urgent: Int64 = 2 * 3_600_000

    private struct Open {
        let row: RefundRow
        let period: Period?
        /// Whether workers answer questions of its app.
        let isAnswered: Bool
    }

    private static func page(_ call: PageCall) throws -> Page {
        let (list, open, isCut) = try call.ask { desk -> (DeskList<RefundRow>, [Open], Bool) in
            let question = try call.question(RefundsQuestion.self, of: "refunds")
            let list = try desk.refunds(question)
            // Only the first page has them; the others go on with the list.
            guard call.query["after"] == nil else { return (list, [Open](), false) }
            var parameters = try DeskParameters(
                query: "open=true&limit=\(DeskParameters.mostRows)", of: "open refunds")
            let all = try desk.refunds(try RefundsQuestion(&parameters, now: call.clock.now))
            let rows = all.items.filter { fits($0, call) }.sorted { $0.request.deadline < $1.request.deadline }
            let shown = Array(rows.prefix(mostOpen))
            return (
                list,
                zip(shown, try desk.periods(of: shown)).map {
                    Open(row: $0, period: $1, isAnswered: desk.answersRefunds(of: $0.request.key.purchase.app))
                },
                rows.count > shown.count || all.next != nil
            )
        }
        let path = ConsoleSection.refunds.path
        return Page(
            "Refunds", section: .refunds, hasEnvironment: true,
            command: call.command("refunds list", ["open": "--open", "app": "--app"]), api: call.api("refunds")
        ) {
            Tag.h1 { "Refunds" }
            Tag.p(.classes(.lead)) {
                "Apple asks how a purchase was used, before it decides on a refund, and takes one answer within 12 hours."
            }
            if call.query["after"] == nil {
                Tag.h2 { "To be answered" }
                if open.isEmpty {
                    PageParts.empty("Apple waits for no answer.")
                } else {
                    Tag.div(.classes(.cards)) { for item in open { card(item, call) } }
                    if isCut { Tag.p(.classes(.more)) { "There are more open questions; the list below has all." } }
                }
            }
            Tag.h2 { "All questions" }
            PageParts.filters(
                [.init("open", "Open", .state, .choice(["true"])), .init("app", "App", .app)], of: path, call)
            rows(list, of: path, call)
        }
    }

    private static func fits(_ row: RefundRow, _ call: PageCall) -> Bool {
        let key = row.request.key.purchase
        guard call.environment == nil || call.environment == key.environment else { return false }
        return call.query["app"].map { $0.isEmpty || $0 == key.app } ?? true
    }

    // MARK: - One that can be answered

    private static func card(_ item: Open, _ call: PageCall) -> Node {
        let request = item.row.request
        let key = request.key.purchase
        let left = distance(from: call.clock.now, to: request.deadline)
        return Tag.section(.classes(.card, left < urgent ? .bad : .warn)) {
            Tag.h2 { Node.untrusted(request.productID) }
            Tag.p(.classes(.figure)) {
                RelativeTime.text(left)
                " "
                Tag.small { "left, until \(hour(request.deadline))" }
            }
            PageParts.facts([
                ("Price", .text(item.period.flatMap { DisplayText.amount(of: $0) } ?? "not known")),
                ("Use so far", item.period.map { .text(use($0, at: request.asked)) }),
                ("Reason", request.reasons.isEmpty ? nil : .untrusted(request.reasons.joined(separator: ", "))),
                (
                    "Customer",
                    item.row.owner.map { owner in
                        PageParts.link(
                            ConsolePath.customer(owner), .customers, call, .identifier(owner, shown: 28))
                    }
                ),
                (
                    "Purchase",
                    PageParts.link(
                        ConsolePath.purchase(key), .purchases, call,
                        .identifier(key.originalTransactionID, shown: 28))
                ),
                ("App", .group([.untrusted(key.app), .text(" "), PageParts.badge(key.environment)])),
                ("Asked", call.clock.time(request.asked)),
                ("Answer", outcome(request).map { .untrusted($0) }),
            ])
            if item.isAnswered {
                if request.objection(at: call.clock.now) == nil {
                    call.changes(
                        [.refundAnswer],
                        of: [
                            "transaction": request.key.transactionID, "app": key.app,
                            "environment": key.environment.rawValue,
                        ])
                }
                Tag.details {
                    Tag.summary { "Answer by a command" }
                    Tag.p(.classes(.quiet)) { "With the customer's consent only; a worker sends the answer." }
                    Node.lines(
                        answers(item).map { "entitled \($0)" }.joined(separator: "\n"),
                        spoken: "Commands that answer about \(request.key.transactionID)")
                }
            } else {
                Tag.p(.classes(.quiet)) {
                    "No worker answers questions of this app: that needs refunds.policy and server_api in the configuration."
                }
            }
        }
    }

    /// `14:10 UTC`, as it is within half a day.
    private static func hour(_ instant: Int64) -> String {
        String(Timestamp.text(instant).dropFirst(11).prefix(5)) + " UTC"
    }

    /// How much of what was paid for had been given when Apple asked.
    private static func use(_ period: Period, at instant: Int64) -> String {
        let bought = period.transaction.purchaseDate
        let since = "bought \(RelativeTime.text(distance(from: bought, to: instant))) before the question"
        guard let ends = period.transaction.expiresDate, ends > bought else { return since }
        let whole = distance(from: bought, to: ends)
        let share = Double(distance(from: bought, to: instant)) / Double(whole)
        return "\(Int(min(1, max(0, share)) * 100)) % of \(RelativeTime.text(whole)); \(since)"
    }

    /// Of dates that Apple signed, whatever they are.
    private static func distance(from start: Int64, to end: Int64) -> Int64 {
        let (distance, overflow) = end.subtractingReportingOverflow(start)
        return overflow ? (end > start ? .max : .min) : distance
    }

    /// What `refunds answer` takes of it, one line for each answer.
    private static func answers(_ item: Open) -> [String] {
        let key = item.row.request.key
        let command =
            "refunds answer --consent --app \(PageCall.quoted(key.purchase.app))"
            + " --environment \(key.purchase.environment.rawValue)"
        let id = PageCall.argument(key.transactionID)
        // Of what renews Apple reckons the share itself.
        let share = item.period?.transaction.isRenewable == true ? "" : " --consumed 50"
        return [
            "\(command) --preference decline \(id)", "\(command) --preference grant_full \(id)",
            "\(command) --preference grant_prorated\(share) \(id)",
        ]
    }

    // MARK: - All of them

    private static func rows(_ list: DeskList<RefundRow>, of path: LocalPath, _ call: PageCall) -> Node {
        let shown = DeskList(
            list.items.filter { call.environment == nil || $0.request.key.purchase.environment == call.environment },
            next: list.next, lookedBackTo: list.lookedBackTo)
        return PageParts.rows(
            "Questions, the newest first", shown, of: path, none: "Apple has asked no question about a refund.",
            hasFile: call.environment == nil, call,
            [
                Column("Product") { row in
                    PageParts.link(
                        ConsolePath.purchase(row.request.key.purchase), .purchases, call,
                        .untrusted(row.request.productID))
                },
                Column("State") { row in badge(row) },
                Column("Until") { row in
                    row.request.isOpen(at: call.clock.now) ? call.clock.time(row.request.deadline) : .none
                },
                Column("Reason", text: { $0.request.reasons.joined(separator: ", ") }),
                Column("Answer", text: { outcome($0.request) }),
                Column("Apple decided", text: { $0.request.decision }),
                Column("Customer") { row in
                    row.owner.map { owner in
                        PageParts.link(ConsolePath.customer(owner), .customers, call, .identifier(owner, shown: 20))
                    } ?? .none
                },
                Column("Environment") { row in PageParts.badge(row.request.key.purchase.environment) },
                Column("Asked") { row in call.clock.time(row.request.asked) },
            ])
    }

    private static func badge(_ row: RefundRow) -> Node {
        let request = row.request
        if request.decided != nil { return PageParts.badge("decided") }
        switch request.state {
        case .sent: return PageParts.badge("answered", .good)
        case .ready, .sending: return PageParts.badge("on its way", .warn)
        case .open, .failed:
            if request.isOpen(at: row.now) { return PageParts.badge("open", .bad) }
            return PageParts.badge("time is over")
        }
    }

    private static func outcome(_ request: RefundRequest) -> String? {
        switch request.state {
        case .open: nil
        case .ready: request.failure.map { "to be sent again: \($0)" } ?? "to be sent"
        case .sending: "on its way"
        case .sent: "\(request.answer?.preference ?? "no preference"), by \(request.answeredBy ?? "the policy")"
        case .failed: "not taken: \(request.failure ?? "")"
        }
    }
}
