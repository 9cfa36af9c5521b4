import Base
import CLI
import Database
import Postgres

/// An id of a customer on a command line. Every command takes it in the same way, and says for whom.
struct CustomerArgument {
    /// What a command does with the customer, which decides how sure an id has to be.
    enum Use {
        /// Any id that names one customer.
        case reading
        /// An app user id as it is, or a UUID in any case: what is meant for ZOE never goes to zoe.
        case changing
        /// The same, or with `--create` an id that no customer has.
        case receiving(mayCreate: Bool)
    }

    private let resolved: ResolvedID
    /// The id that the command goes on with.
    let id: String
    /// Whether no customer has it yet.
    let isNew: Bool

    /// - Throws: `CommandFailure` where the id names no customer, or is not sure enough.
    init(_ given: String, for use: Use, on connection: PostgresConnection) throws {
        resolved = try CustomerQuery.resolve(given, on: connection)
        switch (use, resolved.match) {
        case (_, .exact), (_, .uuid), (.reading, .some):
            (id, isNew) = (resolved.appUserID ?? resolved.given, false)
        case (.receiving(mayCreate: true), _):
            (id, isNew) = (resolved.given, true)
        default:
            throw CommandFailure(try CustomerArgument.refusal(resolved, use, on: connection))
        }
    }

    // MARK: - Sentences

    /// What was taken for what; nil where the id is taken as it is, and nothing is near it.
    var note: String? {
        let near = CustomerArgument.near(resolved.spellings)
        switch resolved.match {
        case _ where isNew: return "created \(id)" + (near.map { "; \($0)" } ?? "")
        case .exact: return near.map { "\(id) is taken; \($0)" }
        case .uuid: return "\(resolved.given) is \(id)" + (near.map { "; \($0)" } ?? "")
        case .letterCase: return "\(resolved.given) is \(id); \(near ?? "")"
        case .purchase: return "\(resolved.given) is a purchase of \(id)"
        case nil: return nil
        }
    }

    /// `2 ids differ only in case: Kim, kim`; nil where there are none.
    private static func near(_ spellings: [ResolvedID.Candidate]) -> String? {
        guard !spellings.isEmpty else { return nil }
        let list = spellings.map(\.id).joined(separator: ", ")
        return "\(spellings.count == 1 ? "1 id differs" : "\(spellings.count) ids differ") only in case: \(list)"
    }

    /// Customers among whose ids one that was meant is looked for, the newest first.
    private static let searched = 1000

    /// ` (did you mean anna?)`, or nothing.
    private static func hint(for id: String, on connection: PostgresConnection) throws -> String {
        let customers = try CustomerQuery.list(atMost: searched, on: connection)
        return NearestName.hint(for: id, among: customers.flatMap(\.appUserIDs))
    }

    private static func refusal(
        _ resolved: ResolvedID, _ use: Use, on connection: PostgresConnection
    ) throws -> String {
        let given = resolved.given
        if resolved.owners.count > 1 {
            let owners = resolved.owners.map(\.id).joined(separator: ", ")
            return "\(given) is a purchase of \(resolved.owners.count) customers: \(owners); give the id of one of them"
        }
        let creation = if case .receiving = use { ", or take it as a new id with --create" } else { "" }
        if let near = near(resolved.spellings) {
            return "no customer has the id \(given), and \(near); give the id as it is written\(creation)"
        }
        if let owner = resolved.owners.first?.id {
            return "no customer has the id \(given), which is a purchase of \(owner): give that id\(creation)"
        }
        let hint = try hint(for: given, on: connection)
        switch use {
        case .reading: return "no customer has the id \(given)\(hint)"
        case .changing: return "no customer has the id \(given)\(hint); `entitled customers list` shows ids"
        case .receiving: return "no customer has the id \(given)\(hint); --create takes it as a new id"
        }
    }

    // MARK: - JSON

    /// `{"given", "app_user_id", "match", "created", "differ_only_in_case"}`; `match` is null for an id that is new.
    var document: JSON {
        .object([
            "given": .string(resolved.given), "app_user_id": .string(id),
            "match": .text(isNew ? nil : resolved.match?.rawValue), "created": .bool(isNew),
            "differ_only_in_case": .strings(resolved.spellings.map(\.id)),
        ])
    }
}

extension [CustomerArgument] {
    /// The member of a command's document that says which ids were taken, in the order of the arguments.
    var member: JSON.Member { JSON.Member(name: "resolved", value: .array(map(\.document))) }

    /// For people: a line for each id that was not taken as it is.
    func tell(_ terminal: Terminal) {
        for note in compactMap(\.note) { terminal.print(Terminal.harmless(note)) }
    }
}

extension JSON {
    /// A document with the ids that a command took.
    func naming(_ arguments: [CustomerArgument]) -> JSON {
        .object((members ?? []) + [arguments.member])
    }
}
