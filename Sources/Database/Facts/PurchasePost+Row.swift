import AppStore
import Base
import Subscriptions

extension FactRow {
    package init(_ post: PurchasePost) {
        self.init(
            kind: .post, signedDate: post.at, header: nil, signature: nil, payload: post.payload, fact: .post(post))
    }
}

extension PurchasePost {
    /// What is kept of it. What it does not have is left out.
    package var payload: [UInt8] {
        JSON.object([
            "app_user_id": .string(appUserID), "source": .string(source.rawValue), "at": .int(at),
            "behavior": .string(behavior.rawValue), "transaction_id": transactionID.map { .string($0) },
            "purchased": purchased.map { .int($0) }, "renewal": isRenewal ? .bool(true) : nil,
            "alone": isAlone ? .bool(true) : nil, "was_named": wasNamed.map { .bool($0) },
        ]).bytes
    }

    package init?(payload: [UInt8]) {
        guard let kept = KeptPost(payload: payload) else { return nil }
        self = kept.post
    }
}

/// The members of `PurchasePost.payload`.
private struct KeptPost: WirePayload {
    let post: PurchasePost

    init(_ members: Members) throws {
        guard let id = members.text("app_user_id"),
            let source = members.text("source").flatMap(PurchasePost.Source.init(rawValue:)),
            let behavior = members.text("behavior").flatMap(RestoreBehavior.init(rawValue:)),
            let at = members.integer("at")
        else { throw MissingMember() }
        post = PurchasePost(
            by: id, source, transactionID: members.text("transaction_id"), purchased: members.integer("purchased"),
            isRenewal: members.flag("renewal") ?? false, isAlone: members.flag("alone") ?? false, behavior: behavior,
            at: at, wasNamed: members.flag("was_named"))
    }

    private struct MissingMember: Error {}
}
