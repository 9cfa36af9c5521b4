/// Something that is sold.
package struct StoreProduct: Sendable, Equatable {
    /// Apple's words for `type`.
    package enum Kind: String, Sendable {
        case subscription = "Auto-Renewable Subscription"
        case consumable = "Consumable"
        case nonConsumable = "Non-Consumable"
        case nonRenewing = "Non-Renewing Subscription"
    }

    package var id: String
    package var kind: Kind
    /// Thousandths of the currency unit.
    package var price: Int64
    /// Milliseconds of one period; 0 where there is none.
    package var period: Int64
    /// The subscription group; nil for what does not renew.
    package var group: String?

    package init(id: String, kind: Kind = .subscription, price: Int64, period: Int64 = 0, group: String? = nil) {
        self.id = id
        self.kind = kind
        self.price = price
        self.period = period
        self.group = group
    }

    package static let day: Int64 = 86_400_000
    private static let mainGroup = "20900001"

    package static let proMonthly = StoreProduct(
        id: "pro_monthly", price: 9990, period: 30 * day, group: mainGroup)
    package static let proYearly = StoreProduct(
        id: "pro_yearly", price: 59990, period: 365 * day, group: mainGroup)
    package static let basicMonthly = StoreProduct(
        id: "basic_monthly", price: 4990, period: 30 * day, group: mainGroup)
    package static let coins = StoreProduct(id: "coins_100", kind: .consumable, price: 1990)
    package static let lifetime = StoreProduct(id: "pro_lifetime", kind: .nonConsumable, price: 99990)
    package static let seasonPass = StoreProduct(id: "season_pass", kind: .nonRenewing, price: 19990)
}
