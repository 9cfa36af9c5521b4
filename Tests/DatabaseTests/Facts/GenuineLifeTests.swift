import AppStore
import Base
import Database
import Foundation
import Subscriptions
import Testing

/// A subscriber of Apple's sandbox, as Apple signed what happened: in any order the same becomes of it.
@Suite(.enabled(if: GenuineLife.isPresent, "skipped: the data is not here"))
struct GenuineLifeTests {
    private static let catalogue = EntitlementCatalogue([
        "pro": ["com.getsession.org.pro_sub", "com.getsession.org.pro_sub_3_months"]
    ])

    @Test func `what Apple signed about the subscriber is all here`() {
        #expect(
            GenuineLife.arrivals.map(GenuineLife.title) == [
                "DID_RENEW", "EXPIRED VOLUNTARY", "SUBSCRIBED RESUBSCRIBE", "DID_CHANGE_RENEWAL_PREF UPGRADE",
                "DID_CHANGE_RENEWAL_PREF DOWNGRADE", "REFUND",
            ])
        // Each carries a transaction and a renewal info beside itself.
        for arrival in GenuineLife.arrivals {
            #expect(arrival.facts.transactions.count == 1)
            #expect(arrival.facts.renewals.count == 1)
        }
    }

    @Test func `in the order of signing each step makes its events`() {
        let last = GenuineLife.arrivals.last?.arrived ?? 0
        let steps = PurchaseReplay(of: GenuineLife.key, confirmation: ExpiryConfirmation(patience: 86_400_000)).steps(
            GenuineLife.arrivals, until: last)
        let told = steps.map { step in
            let drafts = (step.drafts + step.ends).map { draft in
                draft.type.rawValue + (draft.reason.map { " \($0.rawValue)" } ?? "")
            }
            return "\(GenuineLife.title(step.cause)): \(drafts.joined(separator: ", "))"
        }
        #expect(
            told == [
                "DID_RENEW: RENEWAL",
                // The renewals in between were never seen; each notification brings its own period.
                "EXPIRED VOLUNTARY: RENEWAL, EXPIRATION UNSUBSCRIBE", "SUBSCRIBED RESUBSCRIBE: RENEWAL",
                "time: EXPIRATION UNKNOWN",
                // From three months, which were never seen either.
                "DID_CHANGE_RENEWAL_PREF UPGRADE: RENEWAL", "DID_CHANGE_RENEWAL_PREF DOWNGRADE: PRODUCT_CHANGE",
                "time: EXPIRATION UNKNOWN",
                // Of an earlier period: by the renewal info another one runs, which was never seen. Neither its refund nor
                // an end is told.
                "REFUND: RENEWAL",
            ])
    }

    @Test func `in every order, with repetitions, the same purchase and the same document come of it`() throws {
        let arrivals = GenuineLife.arrivals
        let expected = try #require(purchase(arrivals))
        let instants = arrivals.map(\.arrived)
        let documents = instants.map { document(of: expected, at: $0) }
        #expect(Set(documents).count == instants.count)
        var count = 0
        for order in permutations(Array(arrivals.indices)) {
            // The second comes again in between, the first at the end.
            let again = order.prefix(4) + order.prefix(2).suffix(1) + order.dropFirst(4) + order.prefix(1)
            let told = again.map { arrivals[$0] }
            let found = try #require(purchase(told))
            guard found == expected, instants.map({ document(of: found, at: $0) }) == documents else {
                Issue.record("another purchase from the order \(told.map(GenuineLife.title))")
                continue
            }
            count += 1
        }
        #expect(count == 720)
    }

    // MARK: - Telling it

    /// Folded after each arrival, as the worker does; the last state counts.
    private func purchase(_ arrivals: [PurchaseArrival]) -> Purchase? {
        PurchaseReplay(of: GenuineLife.key, confirmation: ExpiryConfirmation(patience: 86_400_000)).steps(
            arrivals, until: 0
        )
        .last?
        .after
    }

    private func document(of purchase: Purchase, at now: Int64) -> String {
        let customer = CustomerProfile(originalAppUserID: "bob", appUserIDs: ["bob"], firstSeen: 1, lastSeen: 2)
        return SubscriberDocument(catalogue: Self.catalogue)
            .json(customer: customer, purchases: [purchase], now: now).text
    }

    private func permutations(_ items: [Int]) -> [[Int]] {
        guard items.count > 1 else { return [items] }
        return items.flatMap { first in
            permutations(items.filter { $0 != first }).map { [first] + $0 }
        }
    }
}

/// Signed data beside the repository, where it is there; verified, and turned into facts as they are kept.
enum GenuineLife {
    static let key = PurchaseKey(
        app: "demo", environment: .sandbox, originalTransactionID: "2000001024993299")
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/data/apple-signed")
    static let isPresent = FileManager.default.fileExists(atPath: folder.path)

    /// By the date of signing, which is also when they came.
    static let arrivals: [PurchaseArrival] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return files.filter { $0.hasPrefix("n") }.compactMap(arrival).sorted { $0.arrived < $1.arrived }
    }()

    static func title(_ cause: Cause) -> String {
        guard case .notification(let fact) = cause else { return "time" }
        return fact.type + (fact.subtype.map { " \($0)" } ?? "")
    }

    static func title(_ arrival: PurchaseArrival) -> String { title(arrival.cause) }

    /// Nil for what is about another purchase, or none.
    private static func arrival(file: String) -> PurchaseArrival? {
        guard let jws = try? Array(Data(contentsOf: folder.appending(path: file))),
            case .success(let found) = SignedDataInspector(verifier: SignedDataVerifier(trust: .apple)).inspect(jws),
            let notification = found.notification, let transaction = found.nested.transaction,
            transaction.payload.originalTransactionId == key.originalTransactionID,
            let signed = notification.signedDate
        else { return nil }
        let fact = NotificationFact(
            uuid: notification.notificationUUID, type: notification.notificationType.rawValue,
            subtype: notification.subtype?.rawValue, status: notification.data?.status.map { Int(clamping: $0) },
            signedDate: signed)
        var facts = PurchaseFacts()
        // Read from what is kept, as at every later look.
        keep(.transaction, transaction.jws.payload, signed, in: &facts)
        if let renewal = found.nested.renewal { keep(.renewal, renewal.jws.payload, signed, in: &facts) }
        keep(.notification, fact.payload, signed, in: &facts)
        return PurchaseArrival(arrived: signed, facts: facts, cause: .notification(fact))
    }

    private static func keep(_ kind: FactRow.Kind, _ payload: [UInt8], _ signed: Int64, in facts: inout PurchaseFacts) {
        guard let kept = try? FactCodec.restore(FactCodec.compress(payload)) else { return }
        FactRow(kind: kind, signedDate: signed, header: nil, signature: nil, payload: kept).insert(into: &facts)
    }
}
