import AppStore
import Base
import Subscriptions

extension FactRow {
    /// One version of a grant. Only an action makes one: what comes in from outside has no such row.
    package init(_ grant: Grant) {
        let payload = grant.payload
        self.init(
            kind: .grant, signedDate: grant.at, header: nil, signature: nil, payload: payload,
            fact: .transaction(TransactionFact(grant, tie: payload)))
    }
}

extension Grant {
    /// What is kept of it. What it does not have is left out.
    package var payload: [UInt8] {
        JSON.object([
            "id": .string(id), "entitlement": .string(entitlement), "product": .string(product), "start": .int(start),
            "end": end.map { .int($0) }, "revoked": revoked.map { .int($0) }, "at": .int(at), "action": .int(action),
        ]).bytes
    }

    package init?(payload: [UInt8]) {
        guard let kept = KeptGrant(payload: payload) else { return nil }
        self.init(
            id: kept.id, entitlement: kept.entitlement, product: kept.product, start: kept.start, end: kept.end,
            revoked: kept.revoked, at: kept.at, action: kept.action)
    }
}

/// The members of `Grant.payload`.
private struct KeptGrant: WirePayload {
    let id: String
    let entitlement: String
    let product: String
    let start: Int64
    let end: Int64?
    let revoked: Int64?
    let at: Int64
    let action: Int64

    init(_ members: Members) throws {
        guard let id = members.text("id"), let entitlement = members.text("entitlement"),
            let product = members.text("product"), let start = members.integer("start"),
            let at = members.integer("at"), let action = members.integer("action")
        else { throw MissingMember() }
        (self.id, self.entitlement, self.product, self.start) = (id, entitlement, product, start)
        (self.at, self.action) = (at, action)
        (end, revoked) = (members.integer("end"), members.integer("revoked"))
    }

    private struct MissingMember: Error {}
}
