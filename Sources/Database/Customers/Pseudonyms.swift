import Base
import Crypto
import Subscriptions

/// The ids of a customer who was deleted, each with what stands in its place from then on. Ids are compared whatever
/// their case, as account tokens are.
package struct Pseudonyms: Sendable, Equatable {
    /// By the id.
    package let names: [String: String]
    private let folded: [String: String]
    private let search: NameSearch

    package init(_ names: [String: String]) {
        self.names = names
        search = NameSearch(names.keys)
        folded = Dictionary(names.map { ($0.key.lowercased(), $0.value) }) { first, _ in first }
    }

    /// A new random pseudonym for each of these, from which the id cannot be computed.
    package static func random(for ids: [String]) -> Pseudonyms {
        Pseudonyms(
            Dictionary(ids.map { ($0, Owner.anonymousPrefix + Hex.encode(SecureRandom.bytes(16))) }) { first, _ in first
            })
    }

    /// The same ids, with one pseudonym for all.
    package func all(_ pseudonym: String) -> Pseudonyms { Pseudonyms(names.mapValues { _ in pseudonym }) }

    package subscript(_ id: String) -> String? { folded[id.lowercased()] }

    /// The ids as they are kept while a deletion is under way.
    package var json: JSON {
        .object(names.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: .string($0.value)) })
    }

    package init?(parsing text: String) {
        guard let members = (try? JSON(parsing: Array(text.utf8)))?.members else { return nil }
        self.init(
            Dictionary(members.compactMap { member in member.value.stringValue.map { (member.name, $0) } }) { one, _ in
                one
            })
    }

    /// The ids that a free text has in it; some more where letters differ in case only.
    package func ids(in text: String) -> Set<String> { search.names(in: text) }

    /// A free text, with a pseudonym in place of each id in it. A UUID is one id in any case.
    package func replaced(inText text: String) -> String { replaced(inText: text, wholeWords: false) }

    /// - Parameter wholeWords: leaves an id that is a part of a longer word.
    package func replaced(inText text: String, wholeWords: Bool) -> String {
        let longestFirst = ids(in: text).sorted { ($1.count, $0) < ($0.count, $1) }
        return longestFirst.reduce(text) { text, id in
            let parts = Pseudonyms.parts(of: text, by: id)
            guard let pseudonym = names[id], parts.count > 1 else { return text }
            var joined = String(parts[0].text)
            for part in parts.dropFirst() {
                let isPart =
                    wholeWords && (Pseudonyms.isOfWord(joined.last) || Pseudonyms.isOfWord(part.text.first))
                joined += isPart ? String(part.separator) : pseudonym
                joined += part.text
            }
            return joined
        }
    }

    /// What stands between the places of an id, each with the spelling of the id before it.
    private static func parts(of text: String, by id: String) -> [(separator: Substring, text: Substring)] {
        guard AppUserID.isUUID(id) else {
            return text.split(separator: id, omittingEmptySubsequences: false).map { (separator: id[...], text: $0) }
        }
        // All of a UUID is ASCII, so its places are between characters.
        let (bytes, wanted) = (text.utf8, Array(id.utf8).map(NameSearch.lower))
        var parts: [(separator: Substring, text: Substring)] = []
        var (separator, start, place) = (text[text.startIndex..<text.startIndex], text.startIndex, text.startIndex)
        while let end = bytes.index(place, offsetBy: wanted.count, limitedBy: text.endIndex) {
            guard bytes[place..<end].lazy.map(NameSearch.lower).elementsEqual(wanted) else {
                bytes.formIndex(after: &place)
                continue
            }
            parts.append((separator, text[start..<place]))
            (separator, start, place) = (text[place..<end], end, end)
        }
        return parts + [(separator, text[start...])]
    }

    private static func isOfWord(_ character: Character?) -> Bool {
        character.map { $0.isLetter || $0.isNumber } ?? false
    }
}

/// Bodies of events without a person. Events are never rewritten but for this.
package enum EventRedaction {
    private static let names: Set<String> = ["app_user_id", "original_app_user_id"]
    private static let lists: Set<String> = ["aliases", "transferred_from", "transferred_to"]

    /// - Returns: nil where the body names none of them.
    package static func body(_ body: [UInt8], _ pseudonyms: Pseudonyms) throws -> [UInt8]? {
        guard let text = String(validating: body, as: UTF8.self), let members = try JSON(parsing: body).members,
            let event = members.first(where: { $0.name == "event" })?.value.members
        else { return nil }
        var isAboutThem = false
        var redacted = event.map { member -> JSON.Member in
            let value = value(member, pseudonyms)
            if value != member.value { isAboutThem = true }
            return JSON.Member(name: member.name, value: value)
        }
        guard isAboutThem else { return nil }
        for (place, member) in redacted.enumerated() where member.name == "subscriber_attributes" {
            redacted[place] = JSON.Member(name: member.name, value: .object([]))
        }
        let rest = members.filter { $0.name != "event" }
        return JSON.object([JSON.Member(name: "event", value: .object(inOrder(redacted, of: text)))] + rest).bytes
    }

    private static func value(_ member: JSON.Member, _ pseudonyms: Pseudonyms) -> JSON {
        if names.contains(member.name), let id = member.value.stringValue {
            return pseudonyms[id].map { .string($0) } ?? member.value
        }
        guard lists.contains(member.name), let ids = member.value.arrayValue?.compactMap(\.stringValue) else {
            return member.value
        }
        var seen: Set<String> = []
        return .strings(ids.map { pseudonyms[$0] ?? $0 }.filter { seen.insert($0).inserted })
    }

    /// Members in the order in which the text has them, which parsing forgets.
    private static func inOrder(_ members: [JSON.Member], of text: String) -> [JSON.Member] {
        let places = members.map { member in
            text.firstRange(of: "\"\(member.name)\":")?.lowerBound ?? text.endIndex
        }
        return zip(places, members).sorted { $0.0 < $1.0 }.map(\.1)
    }
}
