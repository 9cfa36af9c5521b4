import Base
import Crypto
import Database
import Postgres
import Subscriptions

/// What the search box finds, by any id or by the value of an attribute.
extension DatabaseDesk {
    package func search(_ question: SearchQuestion) throws -> DeskList<SearchHit> {
        try viewer.check(.search)
        let text = question.text
        guard !text.utf8.contains(0) else { throw DeskError.badRequest("q contains a NUL character.", field: "q") }
        var hits: [SearchHit] = []
        if viewer.may(.deliveries), let id = DeliveryID(text: text),
            try DeliveryQuery.exists(id, on: connection)
        {
            hits.append(SearchHit(.delivery, id.text, matched: "delivery"))
        }
        if let uuid = UUIDText.bytes(text) {
            if viewer.may(.events) {
                hits += try EventQuery.find(uuid, on: connection).map { SearchHit(.event, $0.id, matched: "event") }
            }
            if viewer.may(.notifications) {
                hits += try NotificationQuery.names(uuid: text, on: connection).map { name in
                    SearchHit(
                        .notification, name.uuid, app: name.app, environment: name.environment, matched: "notification")
                }
            }
        }
        if viewer.may(.endpoints), try !EndpointTable.list(id: text, on: connection).isEmpty {
            hits.append(SearchHit(.endpoint, text, matched: "endpoint"))
        }
        if viewer.may(.customers) { hits += try customers(by: text) }
        return DeskList(hits)
    }

    private func customers(by text: String) throws -> [SearchHit] {
        let resolved = try CustomerQuery.resolve(text, on: connection)
        var hits: [SearchHit] = []
        var known: Set<String> = []
        func add(_ id: String, _ matched: String) {
            if known.insert(id).inserted { hits.append(SearchHit(.customer, id, matched: matched)) }
        }
        if let id = resolved.appUserID {
            let original = try CustomerTable.load([id], on: connection)[id]?.originalAppUserID ?? id
            let matched =
                switch resolved.match {
                case .purchase: "transaction"
                case .uuid: "token, as Apple writes it"
                case .letterCase: "user id, differs in case only"
                case .exact, nil: "user id"
                }
            add(original, matched)
        }
        for owner in resolved.owners { add(owner.originalAppUserID, "transaction") }
        for other in resolved.spellings { add(other.originalAppUserID, "user id, differs in case only") }
        for match in try attributes(with: text) { add(match.originalAppUserID, SearchHit.attribute + match.key) }
        return hits
    }

    /// By which those are found who are called or written to. Of all others a role that sees values masked could learn them by
    /// guesses.
    private static let contactKeys: Set = ["$email", "$phoneNumber"]

    /// By the whole value, or by `KEY=VALUE`.
    private func attributes(with text: String) throws -> [AttributeTable.Match] {
        let keys = viewer.personalData == .whole ? nil : DatabaseDesk.contactKeys
        let limit = SearchHit.mostByAttribute
        let found = try AttributeTable.search(text, keys: keys, atMost: limit, on: connection)
        let parts = text.split(separator: "=", maxSplits: 1)
        guard found.isEmpty, parts.count == 2 else { return found }
        let key = String(parts[0])
        guard keys?.contains(key) ?? true else { return [] }
        return try AttributeTable.search(String(parts[1]), keys: [key], atMost: limit, on: connection)
    }
}
