import Base
import Subscriptions

extension FactRow {
    /// The member that tells what Apple signed from what is left of it.
    package static let redactionMark = "redacted"
    private static let token = "appAccountToken"

    /// The app account token that the payload has.
    package var accountToken: String? {
        guard kind == .transaction || kind == .renewal else { return nil }
        return (try? JSON(parsing: payload))?[FactRow.token]?.stringValue
    }

    /// The same without its account token, and so without the signature that covered it; the same bytes for the same
    /// fact at any time. Itself where it has none.
    package func withoutToken() throws -> FactRow {
        guard kind == .transaction || kind == .renewal else { return self }
        let members = try JSON(parsing: payload).members ?? []
        guard members.contains(where: { $0.name == FactRow.token }) else { return self }
        let mark = JSON.Member(name: FactRow.redactionMark, value: .strings([FactRow.token]))
        return FactRow(
            kind: kind, signedDate: signedDate, header: nil, signature: nil,
            payload: JSON.object(members.filter { $0.name != FactRow.token } + [mark]).bytes, again: again)
    }

    /// The row without these deleted customers; itself where it names none of them.
    ///
    /// - Parameters:
    ///   - isTheirs: whether the purchase was theirs: then every account token goes, whosever it is.
    ///   - action: the number of the deletion in the log: a later owner of the purchase is another customer who has such an
    ///     id now.
    ///   - deleted: when, in ms.
    package func redacted(
        _ pseudonyms: Pseudonyms, isTheirs: Bool, until action: Int64, at deleted: Int64
    ) throws -> FactRow {
        switch kind {
        case .transaction, .renewal:
            guard let token = accountToken, isTheirs || pseudonyms[token] != nil else { return self }
            return try withoutToken()
        case .assignment:
            guard let assignment = OwnerAssignment(payload: payload), assignment.action <= action,
                let name = pseudonyms[assignment.owner]
            else { return self }
            return FactRow(
                OwnerAssignment(
                    owner: name, at: assignment.at, action: assignment.action, isFound: assignment.isFound))
        case .post:
            guard var post = PurchasePost(payload: payload), post.at <= deleted, let name = pseudonyms[post.appUserID]
            else { return self }
            post.wasNamed = post.wasNamed ?? !Owner.isAnonymous(post.appUserID)
            post.appUserID = name
            return FactRow(post)
        // No other kind has an id of a customer in it.
        default:
            return self
        }
    }
}
