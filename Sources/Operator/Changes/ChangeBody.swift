import Base
import CLI
import Crypto
import Database

/// The body of a request for a change: an object whose members are taken one by one. One that is left is an error, as an
/// unknown parameter of a list is.
struct ChangeBody {
    /// Bytes of a body.
    static let longest = 16 << 10
    /// Scalars of a reason.
    private static let longestReason = 1000

    private let members: [JSON.Member]
    private var taken: Set<String> = []

    /// - Throws: `DeskError`: 400, or 413.
    init(_ body: [UInt8], longest: Int = longest) throws(DeskError) {
        guard body.count <= longest else {
            throw DeskError(413, "body_too_large", "The body may have at most \(longest) bytes.")
        }
        guard let members = (try? JSON(parsing: body, deepest: 4))?.members else {
            throw .badRequest("The body must be a JSON object, such as {\"reason\": \"…\"}.")
        }
        guard Set(members.map(\.name)).count == members.count else {
            throw .badRequest("A member occurs twice in the body.")
        }
        self.members = members
    }

    /// SHA-256 of the request: what is to be done, to what, and the members in the order of their names. Secrets can be guessed from a
    /// hash, which the console's role reads: it says that there is one.
    func fingerprint(_ kind: ChangeKind, of subject: [String: String]) -> [UInt8] {
        func sorted(_ members: [JSON.Member]) -> JSON { .object(members.sorted { $0.name < $1.name }) }
        let isSecret = kind.takesSecrets
        let members = members.map { member in
            isSecret && GivenSecrets.members.contains(member.name)
                ? JSON.Member(name: member.name, value: .bool(true)) : member
        }
        let request = JSON.array([
            .string(kind.rawValue), sorted(subject.map { JSON.Member(name: $0.key, value: .string($0.value)) }),
            sorted(members),
        ])
        return Digest.sha256(request.bytes)
    }

    private mutating func value(_ name: String) -> JSON? {
        taken.insert(name)
        return members.first { $0.name == name }.map(\.value).flatMap { $0 == .null ? nil : $0 }
    }

    mutating func optionalText(_ name: String) throws(DeskError) -> String? {
        guard let value = value(name) else { return nil }
        guard let text = value.stringValue, !text.isEmpty, !text.utf8.contains(0) else {
            throw .badRequest("\(name) must be a text that is not empty.", field: name)
        }
        return text
    }

    mutating func text(_ name: String) throws(DeskError) -> String {
        guard let text = try optionalText(name) else { throw .badRequest("\(name) is missing.", field: name) }
        return text
    }

    /// Nothing is false.
    mutating func flag(_ name: String) throws(DeskError) -> Bool {
        switch value(name) {
        case nil, .bool(false)?, .string("false")?: return false
        case .bool(true)?, .string("true")?: return true
        default: throw .badRequest("\(name) must be true or false.", field: name)
        }
    }

    /// Nil: it is not said.
    mutating func optionalFlag(_ name: String) throws(DeskError) -> Bool? {
        guard let value = value(name), value != .string("") else { return nil }
        return try flag(name)
    }

    /// Texts as an array, or as a form sends them; nil: it is not there. Null and what has none is an empty list.
    mutating func list(_ name: String, separator: Character = ",") throws(DeskError) -> [String]? {
        guard let given = members.first(where: { $0.name == name })?.value else {
            taken.insert(name)
            return nil
        }
        taken.insert(name)
        let texts: [String]?
        switch given {
        case .null: texts = []
        case .string(let text):
            texts = text.split(separator: separator).map { part in
                String(part.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
            }.filter { !$0.isEmpty }
        default:
            let values = given.arrayValue?.compactMap(\.stringValue)
            texts = values?.count == given.arrayValue?.count ? values : nil
        }
        guard let texts, texts.allSatisfy({ !$0.isEmpty && !$0.utf8.contains(0) }), Set(texts).count == texts.count
        else {
            throw .badRequest("\(name) must be a list of texts, each once.", field: name)
        }
        return texts
    }

    /// An instant, in ms since 1970.
    mutating func instant(_ name: String, now: Int64) throws(DeskError) -> Int64? {
        guard let text = try optionalText(name) else { return nil }
        guard let instant = TimeArgument(text: text)?.milliseconds(now: now) else {
            throw .badRequest("\(name) must be \(TimeArgument.allowed).", field: name)
        }
        return instant
    }

    /// A whole number, also as a form sends it.
    mutating func integer(_ name: String, in range: ClosedRange<Int64>) throws(DeskError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard let number = value.intValue ?? value.stringValue.flatMap({ Int64($0) }), range.contains(number) else {
            throw .badRequest(
                "\(name) must be a whole number from \(range.lowerBound) to \(range.upperBound).", field: name)
        }
        return number
    }

    /// One of some words.
    mutating func word(_ name: String, of words: some Sequence<String>) throws(DeskError) -> String? {
        guard let word = try optionalText(name) else { return nil }
        guard words.contains(word) else { throw DeskParameters.notOneOf(words.sorted(), word, name) }
        return word
    }

    /// A length of time such as `24h`.
    mutating func duration(_ name: String, upTo limit: Duration) throws(DeskError) -> Duration? {
        guard let text = try optionalText(name) else { return nil }
        guard let length = Duration(text: text), length <= limit else {
            throw .badRequest("\(name) must be a length of time such as 24h, \(limit.text) at most.", field: name)
        }
        return length
    }

    /// An object of texts, numbers and flags, as a list has them in its query.
    mutating func filter(_ name: String) throws(DeskError) -> [JSON.Member]? {
        guard let value = value(name) else { return nil }
        guard let members = value.members else {
            throw .badRequest("\(name) must be an object.", field: name)
        }
        return members
    }

    /// Several texts, each once.
    mutating func texts(_ name: String, atMost limit: Int) throws(DeskError) -> [String]? {
        guard let value = value(name) else { return nil }
        let texts = value.arrayValue?.compactMap(\.stringValue) ?? []
        guard !texts.isEmpty, texts.count == value.arrayValue?.count, texts.count <= limit,
            Set(texts).count == texts.count
        else {
            throw .badRequest("\(name) must be a list of 1 to \(limit) texts, each once.", field: name)
        }
        return texts
    }

    /// An instant that is still to come, in ms since 1970.
    mutating func future(_ name: String, now: Int64) throws(DeskError) -> Int64? {
        guard let instant = try instant(name, now: now) else { return nil }
        guard instant > now else { throw .badRequest("\(name) must be in the future.", field: name) }
        return instant
    }

    /// Why the change is made: for the audit, and for the log of the customer.
    mutating func reason() throws(DeskError) -> String {
        guard let reason = try optionalReason() else { throw .badRequest("reason is missing.", field: "reason") }
        return reason
    }

    mutating func optionalReason() throws(DeskError) -> String? {
        guard let reason = try optionalText("reason") else { return nil }
        guard reason.unicodeScalars.count <= ChangeBody.longestReason else {
            throw .badRequest("reason may have at most \(ChangeBody.longestReason) characters.", field: "reason")
        }
        return reason
    }

    /// Checks that no member is left.
    func finish() throws(DeskError) {
        guard let left = members.map(\.name).filter({ !taken.contains($0) }).min() else { return }
        throw DeskError(
            400, "unknown_parameter",
            "There is no member \(left); there are: \(taken.sorted().joined(separator: ", ")).", field: left)
    }
}
