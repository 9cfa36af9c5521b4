/// Who buys: one Apple account in one app.
package struct StoreAccount: Sendable, Equatable {
    /// A lower-case UUID that the app gave; nil if it gives none.
    package var token: String?
    package var appTransactionID: String
    /// Three letters (ISO 3166-1 alpha-3), and Apple's number for it.
    package var storefront: String
    package var storefrontID: String
    /// ISO 4217.
    package var currency: String
    /// Has the purchase by Family Sharing: pays nothing, and the buyer's token is not told.
    package var isFamilyMember: Bool

    var sharedToken: String? { isFamilyMember ? nil : token }

    /// Storefronts and currencies to draw from.
    static let countries: [(storefront: String, id: String, currency: String)] = [
        ("USA", "143441", "USD"), ("DEU", "143443", "EUR"), ("GBR", "143444", "GBP"), ("JPN", "143462", "JPY"),
        ("BRA", "143503", "BRL"),
    ]
}
