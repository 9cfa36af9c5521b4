import Base
import Subscriptions
import Testing

struct ValueTests {
    @Test(
        arguments: [
            (0, "0"), (9990, "9.99"), (499_000, "499"), (1, "0.001"), (10, "0.01"), (-9990, "-9.99"), (-1, "-0.001"),
            (1500, "1.5"), (.max, "9223372036854775.807"), (.min, "-9223372036854775.808"),
        ] as [(Int64, String)])
    func `milliunits are written exactly`(milliunits: Int64, text: String) {
        #expect(Money.number(milliunits: milliunits).text == text)
    }

    @Test(arguments: [("USA", "US"), ("JPN", "JP"), ("GBR", "GB"), ("DEU", "DE"), ("XKS", "XK"), ("ROU", "RO")])
    func `countries of three letters have two`(alpha3: String, alpha2: String) {
        #expect(CountryCodes.alpha2(alpha3) == alpha2)
    }

    @Test(arguments: ["", "US", "usa", "ZZZ"])
    func `what is no country has none`(code: String) {
        #expect(CountryCodes.alpha2(code) == nil)
    }

    @Test(arguments: [0, 1, 15, 16, 32])
    func `an id is an upper-case UUID of version 8, of whatever bytes`(count: Int) throws {
        let id = EventID.uuid(of: [UInt8](repeating: 0xff, count: count))
        #expect(id.wholeMatch(of: /[0-9A-F]{8}-[0-9A-F]{4}-8[0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12}/) != nil)
    }

    @Test func `an amount in a currency without a rate, or beyond what can be said, has no dollars`() {
        let rates = DollarRates(millionths: ["EUR": 1_100_000])
        #expect(rates.milliunits(1000, of: "EUR") == 1100)
        #expect(rates.milliunits(1000, of: "JPY") == nil)
        #expect(rates.milliunits(.max, of: "EUR") == nil)
        #expect(rates.milliunits(.max, of: "USD") == .max)
    }

    @Test func `entitlements of a product are in the order of their names`() {
        let catalogue = EntitlementCatalogue(["z": ["p"], "a": ["p", "p", "q"]])
        #expect(catalogue.entitlements(of: "p") == ["a", "z"])
        #expect(catalogue.entitlements(of: "x").isEmpty)
    }
}
