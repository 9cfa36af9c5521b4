import Subscriptions
import Testing

/// Amounts as people read them, with the digits that ISO 4217 gives their currency.
struct CurrencyDigitsTests {
    @Test(arguments: [
        (Int64(4800), "EUR", "4.80"), (91_900, "USD", "91.90"), (0, "EUR", "0.00"), (500_000, "JPY", "500"),
        (9990, "USD", "9.99"), (1_234_500, "KWD", "1234.500"), (-4800, "EUR", "-4.80"), (1000, "CLP", "1"),
        // What the currency does not have is never hidden.
        (105_707, "JPY", "105.707"), (1005, "EUR", "1.005"),
    ])
    func `an amount has the digits of its currency`(milliunits: Int64, currency: String, text: String) {
        #expect(Money.text(milliunits: milliunits, currency: currency) == text)
    }

    @Test(arguments: [
        (Int64(105_707), "JPY", "106"), (105_499, "JPY", "105"), (-105_500, "JPY", "-106"), (1005, "EUR", "1.01"),
        (1004, "EUR", "1.00"), (3333, "USD", "3.33"), (1234, "KWD", "1.234"), (0, "JPY", "0"),
    ])
    func `an amount that was computed is rounded to them`(milliunits: Int64, currency: String, text: String) {
        #expect(Money.rounded(milliunits: milliunits, currency: currency) == text)
    }

    @Test func `documents have amounts without them`() {
        #expect(Money.text(milliunits: 4800) == "4.8")
    }
}
