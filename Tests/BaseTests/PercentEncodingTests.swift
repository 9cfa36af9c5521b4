import Base
import Testing

struct PercentEncodingTests {
    @Test(arguments: [
        ("", ""), ("2000000123456789", "2000000123456789"), ("a b", "a%20b"), ("a/b?c=d&e#f", "a%2Fb%3Fc%3Dd%26e%23f"),
        ("ü", "%C3%BC"), ("100%", "100%25"), ("-._~", "-._~"), ("+", "%2B"), ("\0\n", "%00%0A"),
    ])
    func `what is encoded is decoded again`(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test(arguments: ["%", "%2", "%zz", "a%", "%C3", "%FF"])
    func `what cannot be decoded is refused`(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func `small digits are read, and a plus stays one`() {
        #expect(PercentEncoding.decode("%2f+") == "/+")
    }
}
