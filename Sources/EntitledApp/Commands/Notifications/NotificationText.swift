import Base
import CLI
import Database
import Subscriptions

/// A notification for people: what became of it, and what Apple signed, field by field.
struct NotificationText {
    /// As in JSON.
    private let summary: JSON
    private let payload: [UInt8]
    /// Why the payload is not there.
    private let gap: String?
    private let terminal: Terminal

    static let onlyByReprocess = "only by reprocess"

    init(_ summary: JSON, payload: [UInt8], gap: String?, _ terminal: Terminal) {
        self.summary = summary
        self.payload = payload
        self.gap = gap
        self.terminal = terminal
    }

    var text: String {
        let signed = gap.map { [$0] } ?? SignedFields(payload, terminal).lines
        return (head + [""] + signed).map(Terminal.harmless).joined(separator: "\n")
    }

    private var head: [String] {
        let type = [summary.cell("type"), summary.cell("subtype")].filter { !$0.isEmpty }.joined(separator: " ")
        let reason = summary["reason"]?.stringValue.map { ": \($0)" } ?? ""
        func time(_ name: String) -> String? { summary.instant(name).map(terminal.time) }
        var lines = [
            summary.cell("uuid"), "type         \(type)",
            "app          \(summary.cell("app")), \(summary.cell("environment"))",
            "state        \(summary.cell("state"))\(reason)",
        ]
        if let attempts = summary["attempts"]?.intValue {
            lines.append(
                "attempts     \(attempts), next \(time("next_attempt_at") ?? NotificationText.onlyByReprocess)")
        }
        return lines + [
            "purchase     \(summary["original_transaction_id"]?.stringValue ?? "none")",
            "signed       \(time("signed_at") ?? "no date")", "received     \(time("received_at") ?? "")",
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
