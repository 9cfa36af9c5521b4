import Base
import Database
import Postgres
import Subscriptions

/// Keeps what Apple still sends about people who were deleted from bringing them back: it becomes news of a purchase with
/// an anonymous owner, and nothing that names them is stored.
///
/// A purchase that began before the deletion of its account token, and that nothing was known of, belongs to no one. One that began
/// later belongs to a customer who came back.
struct DeletedCustomerFilter: Sendable {
    private let names = DeletedCustomerHashes()
    private let salt: OwnerSalt

    init(salt: OwnerSalt) {
        self.salt = salt
    }

    /// What was found out about a batch.
    struct Found {
        /// As they may be stored.
        var notifications: [DecodedNotification]
        /// The deletions of the customers who bought these purchases.
        var deletions: [PurchaseKey: Past] = [:]
        /// Those that carry a token in the bytes that Apple signed.
        var unkept: [PendingNotification] = []
        fileprivate let digest: SaltedDigest

        /// What was found out about a part of it later counts.
        mutating func formUnion(_ other: Found) {
            deletions.merge(other.deletions) { $1 }
            unkept += other.unkept.filter { new in !unkept.contains { $0.seq == new.seq } }
            looked.formUnion(other.looked)
            known.merge(other.known) { $1 }
        }

        /// The names that were looked for, and those of them that were deleted.
        fileprivate var looked: Set<String> = []
        fileprivate var known: [String: DeletedCustomerHashes.Deletion] = [:]

        /// To whom a purchase belongs of which nothing was known but this: to an anonymous id from its beginning on, so that
        /// whatever another customer did with the account since counts, before the deletion and after it.
        func owner(of purchase: Purchase) -> OwnerAssignment? {
            deletions[purchase.key].map { past in
                OwnerAssignment(
                    owner: Owner.anonymousID(
                        for: purchase.key, account: purchase.appTransactionID, deletion: past.deletion.action,
                        digest: digest),
                    at: past.began, action: past.deletion.action)
            }
        }
    }

    /// The deletion of the customer who bought a purchase, and when it was bought, in ms.
    struct Past {
        let deletion: DeletedCustomerHashes.Deletion
        let began: Int64
    }

    private struct Subject {
        let key: PurchaseKey
        /// Account tokens. What becomes of the account's own id is in its log (`OwnerSettlement`).
        let names: Set<String>
        /// When it was bought, in ms.
        let began: Int64
    }

    /// One statement for all of them.
    func look(_ notifications: [DecodedNotification], on connection: PostgresConnection) throws -> Found {
        let digest = try salt.digest(on: connection)
        var found = Found(notifications: notifications, digest: digest)
        let subjects = notifications.map(subject)
        found.looked = Set(subjects.flatMap { $0?.names ?? [] })
        let deleted = try names.among(found.looked, on: connection)
        found.known = deleted
        guard !deleted.isEmpty else { return found }
        for (place, subject) in subjects.enumerated() {
            guard let subject, case .facts(let key, let rows, let fact, let signed) = notifications[place].content,
                let deletion = subject.names.compactMap({ deleted[$0] }).max(by: { $0.at < $1.at }),
                subject.began <= deletion.at
            else { continue }
            found.deletions[key] = Past(deletion: deletion, began: subject.began)
            let pending = notifications[place].pending
            found.notifications[place] = DecodedNotification(
                pending: pending, content: .facts(key, try rows.map { try $0.withoutToken() }, fact, signed: signed))
            found.unkept.append(pending)
        }
        return found
    }

    /// Looks once more, when customers are made and held: a customer who was deleted since the first query was not found by it. What names
    /// them must not be stored, nor bring them back, and what they bought gets its owner with their deletion known.
    ///
    /// - Throws: `PostgresError`, to begin the transaction again.
    func requireNoneSince(_ found: Found, on connection: PostgresConnection) throws {
        guard try names.among(found.looked, on: connection) == found.known else {
            throw PostgresError(.query, "a customer was deleted meanwhile", sqlstate: "40001")
        }
    }

    private func subject(_ notification: DecodedNotification) -> Subject? {
        guard case .facts(let key, let rows, _, let signed) = notification.content else { return nil }
        var (transaction, renewal): (TransactionFact?, RenewalFact?)
        for row in rows {
            switch row.read() {
            case .transaction(let fact): transaction = transaction ?? fact
            case .renewal(let fact): renewal = renewal ?? fact
            default: break
            }
        }
        let tokens = [transaction?.appAccountToken, renewal?.appAccountToken].compactMap { $0 }
        return Subject(
            key: key, names: Set(tokens),
            began: transaction?.originalPurchaseDate ?? renewal?.recentSubscriptionStartDate ?? signed)
    }

    private static let forget = """
        DELETE FROM entitled.notification n USING unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        WHERE n.lane = t.lane /* cluster: AND n.lane = ANY($1::int2[]) */ AND n.seq = t.seq
        """

    /// What Apple signed over a token cannot be kept without it. Deliveries of it as it came are given up, visibly.
    static func forget(_ notifications: [PendingNotification], on connection: PostgresConnection) throws {
        guard !notifications.isEmpty else { return }
        _ = try connection.query(
            forget, [.int2s(notifications.map(\.lane.number)), .int8s(notifications.map(\.seq))])
    }
}
