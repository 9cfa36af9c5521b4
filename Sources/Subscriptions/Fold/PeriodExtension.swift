/// A period whose end was moved to later (RENEWAL_EXTENDED), by what its versions say.
package struct PeriodExtension: Sendable, Equatable {
    package let transactionID: String
    /// The end as it was, in ms.
    package let from: Int64
    /// The end as it became, in ms.
    package let to: Int64
    /// When it was first signed, in ms.
    package let signed: Int64
}

extension PeriodExtension {
    /// - Parameter versions: of one transaction, oldest first.
    static func extensions(_ versions: [TransactionFact]) -> [PeriodExtension] {
        zip(versions, versions.dropFirst()).compactMap { before, after in
            guard let from = before.expiresDate, let to = after.expiresDate, from < to else { return nil }
            return PeriodExtension(transactionID: after.transactionID, from: from, to: to, signed: after.signedDate)
        }
    }
}
