import Base
import CLI
import Database
import Subscriptions

/// A notification for people: what became of it, and what Apple signed, field by field.
struct NotificationText {
    private let whole: NotificationQuery.Whole
    private let terminal: Terminal

    init(_ whole: NotificationQuery.Whole, _ terminal: Terminal) {
        self.whole = whole
        self.terminal = terminal
    }

    var text: String {
        let signed = whole.gap.map { [$0] } ?? SignedFields(whole.payload, terminal).lines
        return (head + [""] + signed).map(Terminal.harmless).joined(separator: "\n")
    }

    private var head: [String] {
        let summary = whole.summary
        let type = [summary.type, summary.subtype].compactMap(\.self).joined(separator: " ")
        let hold = summary.hold
        var lines = [
            summary.identity.uuid, "type         \(type)",
            "app          \(summary.identity.app), \(summary.identity.environment.rawValue)",
            "state        \(summary.state.rawValue)\(hold.map { ": \($0.reason)" } ?? "")",
        ]
        if let hold { lines.append("attempts     \(hold.attempts), next \(hold.nextText(terminal.time))") }
        return lines + [
            "purchase     \(summary.originalTransactionID ?? "none")",
            "signed       \(summary.signed.map(terminal.time) ?? "no date")",
            "received     \(terminal.time(summary.received))",
        ]
    }
}

/// The payload of a notification as lines of fields, under the names that Apple gives them. Whatever is signed within it is
/// decoded: a section each for the data, the transaction and the renewal info.
///
/// Nothing is verified here: ingest verified the notification before it was stored.
package struct SignedFields {
    private struct Section {
        let title: String
        var fields: [(name: String, value: String)] = []
    }

    private let terminal: Terminal
    private var sections: [Section] = []

    /// Deeper objects are shown as JSON.
    private static let deepest = 4

    /// - Parameter payload: JSON.
    package init(_ payload: [UInt8], _ terminal: Terminal) {
        self.terminal = terminal
        guard let json = try? JSON(parsing: payload), json.members != nil else {
            sections = [Section(title: String(decoding: payload, as: UTF8.self))]
            return
        }
        add(json, title: "NOTIFICATION", depth: 0)
    }

    /// Sections with a blank line between them; names are padded so that values begin below each other.
    package var lines: [String] {
        Array(
            sections.map { section in
                let width = section.fields.map(\.name.count).max() ?? 0
                return [section.title]
                    + section.fields.map { name, value in
                        "  \(name)\(String(repeating: " ", count: width - name.count))  \(value)"
                    }
            }.joined(separator: [""]))
    }

    private mutating func add(_ json: JSON, title: String, depth: Int) {
        let place = sections.count
        sections.append(Section(title: title))
        var inner: [(json: JSON, title: String)] = []
        for member in json.members ?? [] {
            if depth < SignedFields.deepest, let section = SignedFields.inner(member) {
                inner.append(section)
            } else {
                sections[place].fields.append((member.name, value(of: member, in: json)))
            }
        }
        let path = ["NOTIFICATION", "DATA"].contains(title) ? "" : "\(title), "
        for section in inner.sorted(by: { SignedFields.rank($0.title) < SignedFields.rank($1.title) }) {
            add(section.json, title: path + section.title, depth: depth + 1)
        }
    }

    /// The transaction before the renewal info, and both before all else.
    private static func rank(_ title: String) -> Int { ["TRANSACTION", "RENEWAL INFO"].firstIndex(of: title) ?? 2 }

    /// What a member holds that is a section of its own: an object, or what is signed within it.
    private static func inner(_ member: JSON.Member) -> (json: JSON, title: String)? {
        if let members = member.value.members { return members.isEmpty ? nil : (member.value, words(member.name)) }
        guard let parts = member.value.stringValue?.split(separator: ".", omittingEmptySubsequences: false),
            parts.count == 3, let payload = Base64.decodeURL(parts[1].utf8), let json = try? JSON(parsing: payload),
            json.members != nil
        else { return nil }
        switch member.name {
        case "signedTransactionInfo": return (json, "TRANSACTION")
        case "signedRenewalInfo": return (json, "RENEWAL INFO")
        default: return (json, words(member.name))
        }
    }

    /// `COMMITMENT INFO` of `commitmentInfo`.
    private static func words(_ name: String) -> String {
        name.map { $0.isUppercase ? " \($0)" : $0.uppercased() }.joined()
    }

    // MARK: - Values

    private func value(of member: JSON.Member, in object: JSON) -> String {
        let name = member.name
        guard let number = member.value.intValue else {
            return member.value.stringValue ?? member.value.text
        }
        if name.hasSuffix("Date") { return terminal.time(number) }
        if name.lowercased().hasSuffix("price"), let currency = object["currency"]?.stringValue {
            return "\(Money.text(milliunits: number, currency: currency)) \(currency)"
        }
        return SignedFields.meanings[name]?[number].map { "\(number) (\($0))" } ?? "\(number)"
    }

    private static let offers: [Int64: String] = [1: "introductory", 2: "promotional", 3: "offer code", 4: "win-back"]

    /// Apple's numbers in words.
    private static let meanings: [String: [Int64: String]] = [
        "status": [1: "active", 2: "expired", 3: "billing retry", 4: "grace period", 5: "revoked"],
        "autoRenewStatus": [0: "off", 1: "on"], "offerType": offers,
        "expirationIntent": [
            1: "switched off by the customer", 2: "billing error", 3: "price increase not accepted",
            4: "product not available", 5: "another reason",
        ],
        "priceIncreaseStatus": [0: "not answered", 1: "accepted"],
        "revocationReason": [0: "another reason", 1: "an issue in the app"],
    ]
}

extension NotificationSummary.Hold {
    func nextText(_ time: (Int64) -> String) -> String { nextAttempt.map(time) ?? "only by reprocess" }
}
