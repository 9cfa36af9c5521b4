import Subscriptions
import Testing

/// What does not fit together in what is sold.
struct CatalogueCheckTests {
    private static let entitlements = EntitlementCatalogue(["pro": ["monthly", "yearly"]])

    private static func offering(_ packages: [(String, String)]) -> OfferingCatalogue {
        OfferingCatalogue(
            offerings: [
                Offering(
                    identifier: "default",
                    packages: packages.map { .init(identifier: $0, products: .everywhere($1)) })
            ], current: "default")
    }

    private static func bought(_ products: (String, String)...) -> [CatalogueCheck.Bought] {
        products.map { CatalogueCheck.Bought(productID: $0, kind: $1) }
    }

    private static let subscription = "Auto-Renewable Subscription"
    private static let usual = bought(("monthly", subscription), ("yearly", subscription))

    private func found(
        _ offerings: OfferingCatalogue, _ bought: [CatalogueCheck.Bought],
        _ entitlements: EntitlementCatalogue = CatalogueCheckTests.entitlements
    ) -> [String] {
        CatalogueCheck(entitlements: entitlements, offerings: offerings).findings(bought).map {
            "\($0.severity) \($0.code) \($0.subject)"
        }
    }

    @Test func `what fits has no findings`() {
        let offerings = Self.offering([("$rc_monthly", "monthly"), ("$rc_annual", "yearly"), ("own", "yearly")])
        #expect(found(offerings, Self.usual).isEmpty)
        #expect(found(OfferingCatalogue(), Self.usual).isEmpty)
    }

    @Test func `each kind of fault is found, errors first`() {
        let good = Self.offering([("$rc_monthly", "monthly")])
        #expect(
            found(good, Self.usual + Self.bought(("coins", "Consumable"), ("odd", Self.subscription)))
                == ["error product_without_entitlement odd", "warning consumable_without_entitlement coins"])
        #expect(
            found(Self.offering([("$rc_monthly", "monthly"), ("x", "typo")]), Self.usual)
                == ["error offered_without_entitlement typo", "warning offered_never_bought typo"])
        #expect(
            found(Self.offering([("$rc_yearly", "yearly")]), Self.usual) == ["error unknown_package $rc_yearly"])
        #expect(
            found(good, Self.usual, EntitlementCatalogue(["pro": ["monthly", "yearly"], "gold": ["bar"]]))
                == ["warning entitlement_not_offered gold"])
        #expect(
            found(OfferingCatalogue(offerings: good.offerings, current: "gone"), Self.usual)
                == ["error unknown_current_offering gone"])
    }

    @Test func `what is sold for a time and gives access for ever is warned of`() {
        let bought = Self.usual + Self.bought(("pass", "Non-Renewing Subscription"), ("unmapped", "Consumable"))
        let entitlements = EntitlementCatalogue(["pro": ["monthly", "yearly", "pass"]])
        func codes(_ durations: Set<String>) -> [String] {
            CatalogueCheck(entitlements: entitlements, offerings: OfferingCatalogue(), durations: durations)
                .findings(bought).map { "\($0.code) \($0.subject)" }
        }
        #expect(codes([]) == ["consumable_without_entitlement unmapped", "endless_subscription pass"])
        #expect(codes(["pass"]) == ["consumable_without_entitlement unmapped"])
    }

    @Test func `a consumable that is offered is no error`() {
        let offerings = Self.offering([("$rc_monthly", "monthly"), ("coins", "coins")])
        #expect(
            found(offerings, Self.usual + Self.bought(("coins", "Consumable")))
                == ["warning consumable_without_entitlement coins"])
    }
}
