import Subscriptions

/// The customer whom an id names that an operator gave, and by what.
package struct ResolvedID: Sendable, Equatable {
    /// Why an id is taken for another one; from the surest to the least sure.
    package enum Match: String, Sendable {
        /// It is an app user id, character for character.
        case exact
        /// It is a UUID, and an app user id but for the case: Apple writes account tokens in lower case, apps as they like.
        case uuid
        /// A purchase of the customer is known by it.
        case purchase
        /// Ids of one customer, and of no other, differ from it in case only.
        case letterCase = "case"
    }

    package struct Candidate: Sendable, Equatable {
        /// An app user id.
        package let id: String
        package let originalAppUserID: String

        package init(id: String, originalAppUserID: String) {
            (self.id, self.originalAppUserID) = (id, originalAppUserID)
        }
    }

    /// In Unicode's normal form C.
    package let given: String
    /// Nil: it names no customer, or more than one.
    package let match: Match?
    /// The app user id that it is taken for; nil where it is taken for none.
    package let appUserID: String?
    /// Ids that differ from it in case only, the oldest first; at most `mostSpellings`. Where it is an app user id, or a UUID
    /// that is taken for one: only those of other customers.
    package let spellings: [Candidate]
    /// Owners of purchases that are known by it, where no app user id is it, one of each customer.
    package let owners: [Candidate]

    /// More ids than these differ from one in case only for no good reason.
    package static let mostSpellings = 20

    /// Decides whom an id names.
    ///
    /// - Parameters:
    ///   - given: in Unicode's normal form C.
    ///   - isUUID: whether it is a UUID, with dashes.
    ///   - caseless: the ids that are the same but for the case, itself among them, the oldest first.
    ///   - owners: of purchases that are known by it.
    package init(_ given: String, isUUID: Bool, caseless: [Candidate], owners: [Candidate]) {
        let others = caseless.filter { $0.id != given }
        let exact = caseless.first { $0.id == given }
        let customers = { (candidates: [Candidate]) in Set(candidates.map(\.originalAppUserID)).count }
        let found: (match: Match, candidate: Candidate?)? =
            if let exact {
                (.exact, exact)
            } else if isUUID, customers(others) == 1 {
                (.uuid, others.first)
            } else if customers(owners) == 1 {
                (.purchase, owners.first)
            } else if owners.isEmpty, customers(others) == 1 {
                (.letterCase, others.first)
            } else {
                nil
            }
        self.given = given
        self.owners = owners
        match = found?.match
        appUserID = found?.candidate?.id
        let isSure = match == .exact || match == .uuid
        spellings = others.filter { !isSure || $0.originalAppUserID != found?.candidate?.originalAppUserID }
    }
}
