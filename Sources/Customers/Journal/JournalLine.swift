import Base
import Crypto
import Database

/// A line of a journal: one JSON document, whose last member `check` covers it and all lines before it, so that lines that
/// were changed, lost or cut off are noticed.
package enum JournalLine: Sendable {
    /// The first line: which installation the journal is of.
    case header(installation: String)
    case entry(JournalEntry)
    /// The end of a part, which is whole: how many entries it has, and where the database was, if all of it was read.
    case end(entries: Int, mark: JournalQuery.Mark?, since: Int64?)

    package static let format: Int64 = 1
    private static let name = "entitled"

    /// The running check before the first line.
    static let start: [UInt8] = []

    private var document: JSON {
        switch self {
        case .header(let installation):
            .object([
                "id": .string("journal/\(installation)"), "journal": .string(JournalLine.name),
                "format": .int(JournalLine.format), "installation": .string(installation),
            ])
        case .entry(let entry):
            .object([
                "id": .string(entry.id), "type": .string(entry.kind.rawValue), "at_ms": .int(entry.at),
                "row": entry.row,
            ])
        case .end(let entries, let mark, let since):
            .object([
                "id": .string("end"), "type": .string("end"), "entries": .int(Int64(entries)),
                "cluster": mark.map { .string($0.cluster) }, "transaction": mark.map { .int($0.transaction) },
                "action": mark.map { .int($0.action) }, "action_ms": mark.map { .int($0.actionTime) },
                "since_ms": since.map { .int($0) },
            ])
        }
    }

    // MARK: - Writing

    /// The bytes of the line without its end; the check moves on.
    func bytes(after check: inout [UInt8]) -> [UInt8] {
        var text = document.bytes
        text.removeLast()
        check = JournalLine.check(check, text)
        return text + Array(#","check":"\#(Hex.encode(check))"}"#.utf8)
    }

    private static func check(_ former: [UInt8], _ text: some Collection<UInt8>) -> [UInt8] {
        Array(Digest.sha256(former + text).prefix(6))
    }

    // MARK: - Reading

    /// What is wrong with a line.
    struct Fault: Error {
        let why: String
    }

    private static let checkSize = #","check":"012345678901"}"#.utf8.count

    init(parsing line: [UInt8], after check: inout [UInt8]) throws {
        guard let json = try? JSON(parsing: line), json.members != nil else {
            throw Fault(why: "it is no JSON document")
        }
        let text = line.dropLast(JournalLine.checkSize)
        let expected = JournalLine.check(check, text)
        guard json["check"] == .string(Hex.encode(expected)) else {
            throw Fault(why: "it, or a line before it, was changed or is missing")
        }
        check = expected
        guard let found = JournalLine(json) else { throw Fault(why: "it has an unknown form") }
        self = found
    }

    private init?(_ json: JSON) {
        if json["journal"] == .string(JournalLine.name), let installation = json["installation"]?.stringValue {
            self = .header(installation: installation)
            return
        }
        guard let id = json["id"]?.stringValue, let type = json["type"]?.stringValue else { return nil }
        if type == "end", let entries = json["entries"]?.intValue {
            var mark: JournalQuery.Mark?
            if let cluster = json["cluster"]?.stringValue, let transaction = json["transaction"]?.intValue,
                let action = json["action"]?.intValue, let actionTime = json["action_ms"]?.intValue
            {
                mark = JournalQuery.Mark(
                    cluster: cluster, transaction: transaction, action: action, actionTime: actionTime)
            }
            self = .end(entries: Int(entries), mark: mark, since: json["since_ms"]?.intValue)
            return
        }
        guard let kind = JournalEntry.Kind(rawValue: type), let at = json["at_ms"]?.intValue, let row = json["row"],
            row.members != nil
        else { return nil }
        self = .entry(JournalEntry(id: id, kind: kind, at: at, row: row))
    }

    /// The format that a first line names; nil where it is no journal's.
    static func format(ofHeader line: [UInt8]) -> Int64? {
        guard let json = try? JSON(parsing: line), json["journal"] == .string(name) else { return nil }
        return json["format"]?.intValue
    }
}
