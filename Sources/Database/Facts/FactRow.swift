import AppStore
import Base
import Crypto
import Subscriptions

/// One thing Apple said about a purchase, as the database keeps it, with its signature.
package struct FactRow: Sendable {
    package enum Kind: Int16, Sendable {
        case transaction = 1
        case renewal = 2
        /// What the notification itself says; its signature covers it in the envelope.
        case notification = 3
        /// The owner of the purchase by an action of the log; unsigned.
        case assignment = 4
        /// What a notification about no purchase carries: a summary, a token of External Purchase, an app transaction.
        case announcement = 5
        /// A version of a grant, by an action of the log; unsigned.
        case grant = 6
        /// What an app said of a transaction; unsigned.
        case context = 7
        /// That an app or a backend posted it for a customer; unsigned.
        case post = 8
    }

    package let kind: Kind
    package let signedDate: Int64
    /// The JWS header and signature; nil for what has none of its own.
    package let header: [UInt8]?
    package let signature: [UInt8]?
    /// JSON.
    package let payload: [UInt8]
    /// When the same was signed as well, in ms.
    package let again: [Int64]
    /// What the payload says, where it is read already.
    private let fact: Fact?
    /// The digest, where it is known already.
    private let known: [UInt8]?

    /// A payload that was read.
    package enum Fact: Sendable {
        case transaction(TransactionFact)
        case renewal(RenewalFact)
        case notification(NotificationFact)
        case assignment(OwnerAssignment)
        case context(TransactionContext)
        case post(PurchasePost)
    }

    /// - Parameter fact: what the payload says, to spare reading it again.
    package init(
        kind: Kind, signedDate: Int64, header: [UInt8]?, signature: [UInt8]?, payload: [UInt8], again: [Int64] = [],
        fact: Fact? = nil, digest: [UInt8]? = nil
    ) {
        known = digest
        self.again = again
        self.fact = fact
        self.kind = kind
        self.signedDate = signedDate
        self.header = header
        self.signature = signature
        self.payload = payload
    }

    /// 16 bytes that tell this fact from every other one of its purchase.
    package var digest: [UInt8] {
        known ?? Array(Digest.sha256([UInt8(truncatingIfNeeded: kind.rawValue)] + payload).prefix(16))
    }

    /// Instants as the database gives them, separated by spaces.
    package static func dates(_ text: String?) -> [Int64] {
        text.map { $0.split(separator: " ").compactMap { Int64($0) } } ?? []
    }

    package var id: FactID { FactID(digest: digest, base: signedDate) }

    /// - Parameter kept: the row that stands for it, where that is another one.
    package func insert(into facts: inout PurchaseFacts, as kept: FactID? = nil) {
        switch read() {
        case .transaction(let fact): for fact in signatures(fact, kept) { facts.insert(fact) }
        case .renewal(let fact): for fact in signatures(fact, kept) { facts.insert(fact) }
        case .notification(let fact): facts.insert(fact)
        case .assignment(let fact): facts.insert(fact)
        case .context(let fact): facts.insert(fact)
        case .post(let fact): facts.insert(fact)
        case nil: break
        }
    }

    /// The fact, and the same where it was signed first and last.
    private func signatures<Signed: VersionedFact>(_ fact: Signed, _ kept: FactID?) -> [Signed] {
        var fact = fact
        fact.id = kept ?? id
        return [fact]
            + again.map { date in
                var other = fact
                (other.signedDate, other.tie) = (
                    date, SignedDate.replacing(signedDate, by: date, in: payload) ?? payload
                )
                return other
            }
    }

    /// What its payload says; nil: nothing that can be read.
    package func read() -> Fact? {
        if let fact { return fact }
        return switch kind {
        case .transaction:
            TransactionPayload(payload: payload).flatMap { TransactionFact($0, tie: payload) }.map(Fact.transaction)
        case .renewal:
            RenewalInfoPayload(payload: payload).flatMap { RenewalFact($0, tie: payload) }.map(Fact.renewal)
        case .notification:
            NotificationFact(payload: payload).map(Fact.notification)
        case .assignment:
            OwnerAssignment(payload: payload).map(Fact.assignment)
        case .context:
            TransactionContext(payload: payload, at: signedDate).map(Fact.context)
        case .post:
            PurchasePost(payload: payload).map(Fact.post)
        case .grant:
            Grant(payload: payload).map { .transaction(TransactionFact($0, tie: payload)) }
        case .announcement:
            nil
        }
    }
}

extension TransactionFact {
    /// Nil where Apple left out what a transaction cannot do without.
    package init?(_ payload: TransactionPayload, tie: [UInt8]) {
        guard let transactionID = payload.transactionId, let originalID = payload.originalTransactionId,
            let productID = payload.productId, let purchaseDate = payload.purchaseDate
        else { return nil }
        self.init(
            transactionID: transactionID, originalTransactionID: originalID,
            webOrderLineItemID: payload.webOrderLineItemId, productID: productID,
            subscriptionGroup: payload.subscriptionGroupIdentifier, purchaseDate: purchaseDate,
            originalPurchaseDate: payload.originalPurchaseDate ?? purchaseDate,
            // Such facts are held today. Those that were admitted before must not give access without end.
            expiresDate: payload.unreadable.isEmpty ? payload.expiresDate : purchaseDate,
            signedDate: payload.signedDate ?? purchaseDate, kind: payload.type ?? "",
            ownership: payload.inAppOwnershipType ?? "PURCHASED", reason: payload.transactionReason ?? "",
            offerType: payload.offerType.map { Int(clamping: $0) }, offerIdentifier: payload.offerIdentifier,
            offerDiscountType: payload.offerDiscountType, price: payload.price, currency: payload.currency,
            revocationDate: payload.revocationDate,
            revocationReason: payload.revocationReason.map { Int(clamping: $0) },
            revocationType: payload.revocationType,
            revocationPercentage: payload.revocationPercentage.map { Int(clamping: $0) },
            isUpgraded: payload.isUpgraded ?? false,
            storefront: payload.storefront, quantity: Int(clamping: payload.quantity ?? 1),
            appAccountToken: payload.appAccountToken, appTransactionID: payload.appTransactionId, tie: tie)
        self.previousOriginalTransactionID = payload.previousOriginalTransactionId
        self.others = payload.others
        self.billingPlan = payload.billingPlanType
        self.commitment = payload.commitmentInfo.map {
            Commitment(
                billingPeriod: $0.billingPeriodNumber, billingPeriods: $0.totalBillingPeriods,
                expiresDate: $0.commitmentExpiresDate, price: $0.commitmentPrice)
        }
    }
}

extension RenewalFact {
    package init?(_ payload: RenewalInfoPayload, tie: [UInt8]) {
        guard let originalID = payload.originalTransactionId else { return nil }
        self.init(
            originalTransactionID: originalID, productID: payload.productId,
            autoRenewProductID: payload.autoRenewProductId,
            autoRenewStatus: payload.autoRenewStatus.map { Int(clamping: $0) },
            expirationIntent: payload.expirationIntent.map { Int(clamping: $0) },
            isInBillingRetryPeriod: payload.isInBillingRetryPeriod,
            gracePeriodExpiresDate: payload.gracePeriodExpiresDate,
            priceIncreaseStatus: payload.priceIncreaseStatus.map { Int(clamping: $0) },
            renewalPrice: payload.renewalPrice, currency: payload.currency, renewalDate: payload.renewalDate,
            recentSubscriptionStartDate: payload.recentSubscriptionStartDate,
            offerType: payload.offerType.map { Int(clamping: $0) }, offerIdentifier: payload.offerIdentifier,
            offerDiscountType: payload.offerDiscountType, appAccountToken: payload.appAccountToken,
            appTransactionID: payload.appTransactionId, signedDate: payload.signedDate ?? 0, tie: tie)
        self.others = payload.others
        self.billingPlan = payload.renewalBillingPlanType
        self.commitment = payload.commitmentInfo.map {
            Commitment(
                autoRenewStatus: $0.commitmentAutoRenewStatus.map { Int(clamping: $0) },
                autoRenewProductID: $0.commitmentAutoRenewProductId,
                billingPlan: $0.commitmentRenewalBillingPlanType, renewalDate: $0.commitmentRenewalDate,
                renewalPrice: $0.commitmentRenewalPrice)
        }
    }
}

extension NotificationFact {
    /// What is kept of a notification beside what it carries. What it does not say is left out, so that bytes which were
    /// kept before there was such a member are the same bytes still.
    package var payload: [UInt8] {
        JSON.object([
            "uuid": .string(uuid), "type": .string(type), "subtype": subtype.map { .string($0) },
            "status": status.map { .int(Int64($0)) }, "signedDate": .int(signedDate),
            "transactionId": transactionID.map { .string($0) },
            "consumptionRequestReason": consumptionRequestReason.map { .string($0) },
        ]).bytes
    }

    package init?(payload: [UInt8]) {
        guard let kept = KeptNotification(payload: payload) else { return nil }
        self.init(
            uuid: kept.uuid, type: kept.type, subtype: kept.subtype, status: kept.status.map { Int(clamping: $0) },
            transactionID: kept.transactionID, consumptionRequestReason: kept.consumptionRequestReason,
            signedDate: kept.signedDate, tie: payload)
    }
}

/// The members of `NotificationFact.payload`.
private struct KeptNotification: WirePayload {
    let uuid: String
    let type: String
    let subtype: String?
    let status: Int64?
    let transactionID: String?
    let consumptionRequestReason: String?
    let signedDate: Int64

    init(_ members: Members) throws {
        guard let uuid = members.text("uuid"), let type = members.text("type"),
            let signedDate = members.integer("signedDate")
        else { throw MissingMember() }
        (self.uuid, self.type, self.signedDate) = (uuid, type, signedDate)
        (subtype, status) = (members.text("subtype"), members.integer("status"))
        transactionID = members.text("transactionId")
        consumptionRequestReason = members.text("consumptionRequestReason")
    }

    private struct MissingMember: Error {}
}

extension FactRow {
    package init(_ assignment: OwnerAssignment) {
        self.init(
            kind: .assignment, signedDate: assignment.at, header: nil, signature: nil, payload: assignment.payload,
            fact: .assignment(assignment))
    }
}

extension OwnerAssignment {
    /// What is kept of it.
    package var payload: [UInt8] {
        JSON.object([
            "owner": .string(owner), "at": .int(at), "action": .int(action), "found": isFound ? .bool(true) : nil,
        ]).bytes
    }

    package init?(payload: [UInt8]) {
        guard let kept = KeptAssignment(payload: payload) else { return nil }
        self.init(owner: kept.owner, at: kept.at, action: kept.action, isFound: kept.isFound)
    }
}

/// The members of `OwnerAssignment.payload`.
private struct KeptAssignment: WirePayload {
    let owner: String
    let at: Int64
    let action: Int64
    let isFound: Bool

    init(_ members: Members) throws {
        guard let owner = members.text("owner"), let at = members.integer("at"),
            let action = members.integer("action")
        else { throw MissingMember() }
        (self.owner, self.at, self.action) = (owner, at, action)
        isFound = members.flag("found") ?? false
    }

    private struct MissingMember: Error {}
}

/// Payloads of facts as they are kept: zstd with a dictionary of what Apple's payloads have in common.
package enum FactCodec {
    private static let limit = 64 << 20

    /// Part of the format: facts compressed with it always need it.
    static let dictionary = Result {
        try ZstdDictionary(
            Array(
                """
                {"uuid":"","type":"SUBSCRIBED","subtype":"INITIAL_BUY","type":"DID_RENEW","status":1,"signedDate":179\
                {"transactionId":"20000010","originalTransactionId":"20000010","webOrderLineItemId":"2000000113",\
                "bundleId":"com.","productId":"","subscriptionGroupIdentifier":"2","purchaseDate":1790000000000,\
                "originalPurchaseDate":1790000000000,"expiresDate":1790000000000,"quantity":1,\
                "type":"Auto-Renewable Subscription","appAccountToken":"","inAppOwnershipType":"PURCHASED",\
                "signedDate":1790000000000,"environment":"Production","environment":"Sandbox",\
                "transactionReason":"PURCHASE","transactionReason":"RENEWAL","storefront":"USA",\
                "storefrontId":"143441","price":9990,"currency":"USD","appTransactionId":"704"}\
                {"expirationIntent":1,"originalTransactionId":"20000010","autoRenewProductId":"","productId":"",\
                "autoRenewStatus":1,"isInBillingRetryPeriod":false,"renewalPrice":9990,"currency":"USD",\
                "signedDate":1790000000000,"environment":"Sandbox","recentSubscriptionStartDate":1790000000000,\
                "renewalDate":1790000000000,"appTransactionId":"704"}
                """.utf8), tables: tables)
    }

    /// Entropy tables that `ZDICT_finalizeDictionary` of zstd 1.5.4 made from 20,000 facts of `storesim`'s subscribers, at level 3.
    /// Part of the format, like the dictionary.
    private static let tables = """
        N6Qw7AEAAAAwEMjSpAP///////+X1FYKCOF7E4DI2HLvMpBaa0n1bvgrQ/YRVKWUZEpJphtB7s5AAwMACBgVx6HF7QAABEBDhQ\
        JChswEBwHFRwzHg6EgACKJQycxBgRpBkABBxiiOUAAAAAA5I7psFFQFgVDAcEhBwAAAADAAgAAAAABAAAABAAAAAgAAAA=
        """

    package static func compress(_ payload: [UInt8]) throws -> [UInt8] {
        try Zstd.compress(payload, dictionary: dictionary.get())
    }

    package static func restore(_ stored: [UInt8]) throws -> [UInt8] {
        try Zstd.decompress(stored, dictionary: dictionary.get(), limit: limit)
    }
}
