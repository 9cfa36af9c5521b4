import Accounts
import Base
import Crypto
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// What became of a change.
extension ChangePages {
    func change(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        guard let viewer = call.viewer, let number = Int64(call.parameter("NUMBER")) else {
            throw DeskError.notFound("There is no such change.")
        }
        let answer = try desk.change(number, for: call.asked(by: viewer), on: call.connection)
        let change = answer.change
        let job = try change.kind.isBulk ? call.ask { try $0.job(number) } : nil
        return Page(change.kind.title, api: LocalPath("operator", "v1", "jobs", String(change.id))) {
            Tag.h1 {
                change.kind.title
                " "
                switch change.state {
                case .done: PageParts.badge("done", .good)
                case .running: PageParts.badge("under way", .warn)
                case .failed, .cancelled: PageParts.badge("not done", .bad)
                }
            }
            switch change.state {
            case .done:
                Tag.p(.classes(.lead)) {
                    Node.untrusted(
                        change.kind.isInquiry
                            ? answer.outcome?["answer"]?.stringValue ?? "Apple has answered." : "It is done.")
                }
                if change.kind.makesSecret { Tag.p { ChangePages.whereSecretStood(change.kind) } }
            case .running:
                Tag.div(.classes(.notice, .warn), .role(.status)) {
                    Tag.p {
                        "A worker has not done it yet. Load this page again, or watch "
                        Node.link(to: ConsolePath.job(change.id)) { "job \(change.id)" }
                        "."
                    }
                }
            case .failed, .cancelled:
                Tag.div(.classes(.notice, .warn), .role(.alert)) {
                    Tag.p { Node.untrusted(change.error ?? "It was not made.") }
                }
            }
            PageParts.facts(
                [
                    ("Job", Node.link(to: ConsolePath.job(change.id)) { String(change.id) }),
                    ("About", .identifier(change.target, shown: 64)),
                    ("Reason", .untrusted(change.reason)), ("Asked by", .untrusted(change.user)),
                ] + outcome(answer))
            if change.kind == .orderLookup { ChangePages.found(answer.outcome, call) }
            if let job {
                ChangePages.progress(job)
                if change.state == .running { call.changes([.jobCancel], of: ["id": String(number)]) }
            }
            if let page = ConsolePath.subject(change.kind, target: change.target, answer.parameters) {
                Tag.p { Node.link(to: page) { "To what was changed" } }
            }
        }
    }

    private static func whereSecretStood(_ kind: ChangeKind) -> String {
        kind == .endpointAdd
            ? "A secret that was made for it stood in the answer to the request, once. If it was not seen, rotate it;"
                + " one that the consumer had already needs nothing."
            : "A secret that was made stood in the answer to the request, once. If it was not seen, rotate it:"
                + " consumers need it. One that the consumer had already needs nothing."
    }

    /// The purchases of an order.
    private static func found(_ outcome: JSON?, _ call: PageCall) -> Node {
        let keys = outcome?["purchases"]?.arrayValue?.compactMap(PurchaseKey.init(named:)) ?? []
        guard !keys.isEmpty else { return .none }
        return PageParts.table(
            "Purchases of the order", keys,
            [
                Column("Transaction") { key in
                    PageParts.link(
                        ConsolePath.purchase(key), .purchases, call, .identifier(key.originalTransactionID, shown: 40))
                }, Column("App", text: \.app), Column("Environment") { key in PageParts.badge(key.environment) },
            ])
    }

    /// How far a change of many rows is, and what became of its deliveries.
    private static func progress(_ answer: JobAnswer) -> Node {
        let counts = answer.job.counts
        return PageParts.facts(
            [
                ("Progress", .text("\(Int(answer.job.fraction * 100)) %")),
                ("Matched", .text(String(counts.matched))), ("Done", .text(String(counts.queued))),
                ("Skipped", .text(String(counts.skipped))),
            ] + facts(answer.deliveries ?? [:]))
    }

    /// Why rows were left as they are.
    static func facts(_ skipped: [BulkSkip: Int64]) -> [(name: String, value: Node?)] {
        BulkSkip.allCases.compactMap { reason -> (name: String, value: Node?)? in
            guard let count = skipped[reason], count > 0 else { return nil }
            return (reason.words, .text(PageParts.grouped(count)))
        }
    }

    /// How many deliveries are in each state.
    static func facts(_ deliveries: [DeliveryState: Int64]) -> [(name: String, value: Node?)] {
        DeliveryState.allCases.compactMap { state -> (name: String, value: Node?)? in
            guard let count = deliveries[state] else { return nil }
            return (
                state.name.prefix(1).uppercased() + state.name.dropFirst(), .text(PageParts.count(CappedCount(count)))
            )
        }
    }

    private func outcome(_ answer: ChangeAnswer) -> [(name: String, value: Node?)] {
        let shown = (answer.outcome?.members ?? []).filter { member in
            // The answer of Apple's stands above, and what it names below.
            !answer.change.kind.isInquiry || !["answer", "purchases"].contains(member.name)
        }
        return shown.map { member in
            let text =
                member.value.stringValue
                ?? member.value.arrayValue.map { $0.compactMap(\.stringValue).joined(separator: ", ") }
                ?? member.value.text
            // That it is so follows from the page.
            if member.value == .bool(true) { return (member.name, nil) }
            let name = member.name.replacing("_", with: " ")
            return (
                name.prefix(1).uppercased() + name.dropFirst(), text.isEmpty || text == "null" ? nil : .untrusted(text)
            )
        }
    }
}
