import Base
import Database
import Postgres
import Subscriptions

/// Keeps what Apple still sends about people who were deleted from bringing them back: it becomes news of a purchase with
/// an anonymous owner, and nothing that names them is stored.
///
/// A purchase that began before the deletion of its account token, or of the anonymous id that it would have, belongs to
/// nobody. One that began later is of somebody who came back.
struct DeletedSubjects: Sendable {
    private let names = DeletedNames()
    private let salt: OwnerSalt

    init(salt: OwnerSalt) {
        self.salt = salt
    }

    /// What was found out about a batch.
    struct Found {
        /// As they may be stored.
        var notifications: [PreparedNotification]
        /// What is behind each purchase of which something was found.
        var deletions: [PurchaseKey: Past] = [:]
        /// Those that carry a token in the bytes that Apple signed.
        var unkept: [PendingNotification] = []
        fileprivate let digest: Subscriptions.Digest

        /// What was found out about a part of it later counts.
        mutating func formUnion(_ other: Found) {
            deletions.merge(other.deletions) { $1 }
            unkept += other.unkept.filter { new in !unkept.contains { $0.seq == new.seq } }
            looked.formUnion(other.looked)
            known.merge(other.known) { $1 }
        }

        /// The names that were looked for, and those of them that were deleted.
        fileprivate var looked: Set<String> = []
        fileprivate var known: [String: DeletedNames.Deletion] = [:]

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

    /// The deletion of the customer who bought something, and when they did, in ms.
    struct Past {
        let deletion: DeletedNames.Deletion
        let began: Int64
    }

    private struct Subject {
        let key: PurchaseKey
        /// Account tokens, and the anonymous id that the owner would have without any.
        let names: Set<String>
        /// When it was bought, in ms.
        let began: Int64
    }

    /// One statement for all of them.
    func look(_ notifications: [PreparedNotification], on connection: PostgresConnection) throws -> Found {
        let digest = try salt.digest(on: connection)
        var found = Found(notifications: notifications, digest: digest)
        let subjects = notifications.map { subject($0, digest) }
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
            guard rows.contains(where: { $0.accountToken.map { deleted[$0] != nil } ?? false }) else { continue }
            let pending = notifications[place].pending
            found.notifications[place] = PreparedNotification(
                pending: pending, content: .facts(key, try rows.map { try $0.withoutToken() }, fact, signed: signed))
            found.unkept.append(pending)
        }
        return found
    }

    /// Looks once more for those who became owners, when they are made and held: who was deleted since the first look, in
    /// the lanes of what they owned until then, was not found by it, and must not be there again.
    ///
    /// - Throws: `PostgresError`, to begin the transaction again.
    func requireNoneSince(_ found: Found, _ owners: Set<String>, on connection: PostgresConnection) throws {
        let spellings = Set(owners.map { $0.lowercased() })
        let again = found.looked.filter { spellings.contains($0.lowercased()) }
        guard try names.among(again, on: connection).allSatisfy({ found.known[$0.key] == $0.value }) else {
            throw PostgresError(.query, "an owner was deleted meanwhile", sqlstate: "40001")
        }
    }

    private func subject(_ notification: PreparedNotification, _ digest: Subscriptions.Digest) -> Subject? {
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
        let account = transaction?.appTransactionID ?? renewal?.appTransactionID
        let anonymous = Owner.anonymousID(for: key, account: account, digest: digest)
        return Subject(
            key: key, names: Set(tokens + [anonymous]),
            began: transaction?.originalPurchaseDate ?? renewal?.recentSubscriptionStartDate ?? signed)
    }

    private static let forget = """
        DELETE FROM entitled.notification n USING unnest($1::int2[], $2::int8[]) AS t(lane, seq)
        WHERE n.lane = t.lane AND n.seq = t.seq
        """

    /// What Apple signed over a token cannot be kept without it. Deliveries of it as it came are given up, visibly.
    static func forget(_ notifications: [PendingNotification], on connection: PostgresConnection) throws {
        guard !notifications.isEmpty else { return }
        _ = try connection.query(
            forget, [.int2s(notifications.map(\.lane.number)), .int8s(notifications.map(\.seq))])
    }
}
