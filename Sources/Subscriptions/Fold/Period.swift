/// One transaction of a purchase, as its newest signed version has it: a subscription's period, or a thing bought once.
package struct Period: Sendable, Equatable {
    /// The newest signed version.
    package let transaction: TransactionFact
    /// When the oldest version known was signed, in ms.
    package let firstSigned: Int64
    /// Its place among the periods, from 1 on: the event format's `renewal_number`. What is not the first of its chain is
    /// 2 at least, whether the first is known or not; earlier periods that become known make it greater, never less.
    package let number: Int
    /// Whether it is the first of its chain, and continues no other purchase.
    package let isFirst: Bool
    /// The other ends that were signed of it, in ms, each once: Apple extended it.
    package let formerEnds: [Int64]
    /// When an upgrade put another period in its place, in ms.
    package let supersededAt: Int64?
    package let revocation: Revocation?
    /// The offering in which the customer saw it, or the period that it continues; as the app said.
    package let presentedOffering: String?
    /// How long the subscriber had paid for service when it began, in ms, lapses of 60 days at most bridged.
    package let paidServiceBefore: Int64

    /// Money that went back, a share that was taken away, or a grant that was.
    package struct Revocation: Sendable, Equatable {
        package enum Kind: Sendable { case refund, family, grant }

        package let kind: Kind
        /// When it took effect, in ms.
        package let date: Int64
        /// The same as it was first signed: Apple corrects it now and then, and it is one revocation still.
        package let firstDate: Int64
        /// When it was first signed, in ms, without a reversal in between.
        package let signed: Int64
        /// Which revocation with this `firstDate` it is, from 1: after a reversal Apple can take back again under the same
        /// date.
        package let number: Int

        /// Tells it apart from the other revocations of its transaction. What arrives late can rename it, but never
        /// gives it the name of one that was reversed.
        package var name: String { number > 1 ? "\(firstDate)/\(number)" : String(firstDate) }
    }

    package var id: String { transaction.transactionID }
    package var productID: String { transaction.productID }

    /// Until when it was paid, in ms, however it ended then; nil: without an end.
    package var paidUntil: Int64? {
        guard let expires = transaction.lacksEnd ? transaction.purchaseDate : transaction.expiresDate else {
            return supersededAt
        }
        return supersededAt.map { Swift.min($0, expires) } ?? expires
    }

    /// Until when it gives access, in ms, grace not counted; nil: without an end.
    package var accessUntil: Int64? {
        guard let revocation, !isKeptInPart else { return paidUntil }
        return paidUntil.map { Swift.min($0, revocation.date) } ?? revocation.date
    }

    /// Whether a revocation took away access that still ran.
    package var wasCutShort: Bool {
        guard let revocation, !isKeptInPart else { return false }
        return paidUntil.map { revocation.date < $0 } ?? true
    }

    package var type: PeriodType { PeriodType(of: transaction) }
}
