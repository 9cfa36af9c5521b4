import Base
import Crypto
import Postgres

/// An entry of a journal: a row of the database that no history of Apple's gives back.
package struct JournalEntry: Sendable {
    /// The tables that a journal is made of, in the order in which an export writes their rows.
    package enum Kind: String, Sendable, CaseIterable {
        /// Which key sealed secrets.
        case sealingKey = "sealing_key"
        /// An endpoint with its secrets, sealed as they are stored.
        case endpoint
        /// A REST key: its hash, never the key.
        case apiKey = "api_key"
        /// Since when an operator has a name, and when the operator was removed.
        case consoleUser = "console_user"
        /// That a key of the operator API ended.
        case operatorKey = "operator_key"
        /// The deletion of a customer, by salted hashes.
        case deletion
        /// An id of a customer.
        case customer
        /// A row of the log of actions.
        case action
        /// What an action or an app said of a purchase: no signature of Apple's is on it.
        case fact
        case attribute
    }

    /// The same for the same row, so that an entry is applied once, however often it was exported.
    package let id: String
    package let kind: Kind
    /// When it happened, or was seen last, in ms since 1970. A deletion at that time or later covers it.
    package let at: Int64
    /// The columns.
    package let row: JSON

    package init(id: String, kind: Kind, at: Int64, row: JSON) {
        self.id = id
        self.kind = kind
        self.at = at
        self.row = row
    }

    /// An id that follows from what the entry says.
    static func id(_ kind: Kind, _ row: JSON) -> String {
        let digest = Hex.encode(Digest.sha256(row.bytes).prefix(12))
        guard kind == .endpoint, let id = row["id"]?.stringValue, let revision = row["revision"]?.intValue else {
            return "\(kind.rawValue)/\(digest)"
        }
        return "\(kind.rawValue)/\(id)/\(revision)/\(digest)"
    }

    /// The ids of customers that it names.
    package var names: [String] {
        switch kind {
        case .sealingKey, .endpoint, .apiKey, .consoleUser, .operatorKey, .deletion: []
        case .customer, .attribute: [row["app_user_id"]?.stringValue].compactMap { $0 }
        case .action:
            [row["app_user_id"]?.stringValue, row["other"]?.stringValue, detail?["original_app_user_id"]?.stringValue]
                .compactMap { $0 }
        case .fact:
            [payload?["owner"]?.stringValue, payload?["app_user_id"]?.stringValue].compactMap { $0 }
        }
    }

    /// Of an action.
    package var detail: JSON? { nested("detail") }
    /// Of a fact.
    package var payload: JSON? { nested("payload") }

    private func nested(_ member: String) -> JSON? {
        row[member]?.stringValue.flatMap { try? JSON(parsing: Array($0.utf8)) }
    }

    /// Hashes of the names that a deletion covers, with the time of the deletion.
    package var deletedHashes: [(hash: [UInt8], at: Int64)] {
        guard kind == .deletion, let at = row["at_ms"]?.intValue else { return [] }
        return (row["hashes"]?.arrayValue ?? []).compactMap { $0.stringValue.flatMap(Hex.decode) }.map { ($0, at) }
    }
}

/// The deleted names of an installation, and when each was deleted last.
package struct DeletedNames: Sendable {
    private let salt: [UInt8]
    private var times: [[UInt8]: Int64] = [:]

    private static let selectSalt = "SELECT salt FROM entitled.deletion_salt"
    private static let select = "SELECT hash, max(at_ms) AS at_ms FROM entitled.deletion_id GROUP BY 1"

    /// Reads those of the database.
    package init(on connection: PostgresConnection) throws {
        salt = try connection.query(DeletedNames.selectSalt).one().bytes("salt")
        for row in try connection.query(DeletedNames.select) {
            times[try row.bytes("hash")] = try row.int("at_ms")
        }
    }

    private init(salt: [UInt8]) {
        self.salt = salt
    }

    /// Tells this installation from every other; a copy of its database is the same one.
    package var installation: String {
        Hex.encode(Digest.sha256(Array("entitled installation".utf8) + salt).prefix(8))
    }

    /// None, of the same installation.
    package var emptied: DeletedNames { DeletedNames(salt: salt) }

    package var isEmpty: Bool { times.isEmpty }

    package mutating func add(_ hash: [UInt8], at instant: Int64) {
        times[hash] = max(times[hash] ?? .min, instant)
    }

    package mutating func formUnion(_ other: DeletedNames) {
        times.merge(other.times, uniquingKeysWith: max)
    }

    /// The names that are deleted here later than there, or not there at all.
    package func subtracting(_ other: DeletedNames) -> DeletedNames {
        var names = emptied
        names.times = times.filter { hash, at in other.times[hash].map { $0 < at } ?? true }
        return names
    }

    /// Whether the entry names one of them, whenever the deletion was.
    package func name(_ entry: JournalEntry) -> Bool {
        !isEmpty && entry.names.contains { time(of: $0) != nil }
    }

    package func hash(_ name: String) -> [UInt8] {
        Digest.hmacSHA256(key: salt, Array(name.lowercased().utf8))
    }

    /// When the name was deleted last, in ms; nil: it was not.
    package func time(of name: String) -> Int64? { time(ofHash: hash(name)) }

    package func time(ofHash hash: [UInt8]) -> Int64? { times[hash] }

    /// Whether a deletion reaches the entry: it names a customer who was deleted then or later.
    package func cover(_ entry: JournalEntry) -> Bool {
        guard !isEmpty else { return false }
        return entry.names.contains { name in time(of: name).map { $0 >= entry.at } ?? false }
    }
}
