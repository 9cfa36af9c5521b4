/// An offer under which a period is bought (`offerType` and what goes with it).
package struct StoreOffer: Sendable, Equatable {
    /// 1 introductory, 2 promotional, 3 offer code, 4 win-back.
    package var type: Int64
    package var identifier: String?
    /// FREE_TRIAL, PAY_AS_YOU_GO, PAY_UP_FRONT or ONE_TIME.
    package var discountType: String
    /// An ISO 8601 duration.
    package var period: String
    /// Milliseconds of the first period.
    package var lasts: Int64
    /// Thousandths of the currency unit.
    package var price: Int64

    package static let trial = StoreOffer(
        type: 1, identifier: nil, discountType: "FREE_TRIAL", period: "P1W", lasts: 7 * StoreProduct.day, price: 0)
    package static let intro = StoreOffer(
        type: 1, identifier: nil, discountType: "PAY_AS_YOU_GO", period: "P1M", lasts: 30 * StoreProduct.day,
        price: 2990)
    package static let promotional = StoreOffer(
        type: 2, identifier: "spring", discountType: "PAY_UP_FRONT", period: "P3M", lasts: 90 * StoreProduct.day,
        price: 14990)
    package static let code = StoreOffer(
        type: 3, identifier: "CODE_2026", discountType: "FREE_TRIAL", period: "P1M", lasts: 30 * StoreProduct.day,
        price: 0)
    package static let winBack = StoreOffer(
        type: 4, identifier: "comeback", discountType: "PAY_AS_YOU_GO", period: "P1M", lasts: 30 * StoreProduct.day,
        price: 1990)

    func add(to members: inout PayloadMembers) {
        members.integer("offerType", type)
        members.text("offerIdentifier", identifier)
        members.text("offerDiscountType", discountType)
        members.text("offerPeriod", period)
    }
}
