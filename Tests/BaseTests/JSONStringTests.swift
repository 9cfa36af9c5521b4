import Base
import Testing

@Suite struct JSONStringTests {
    /// Wherever they stand: what needs no escape is copied in pieces between them.
    @Test(arguments: [
        ("", #""""#), ("plain", #""plain""#), ("\"", #""\"""#), ("a\"b\\c", #""a\"b\\c""#),
        ("\nbegins, ends\t", #""\nbegins, ends\t""#), ("\r\n", #""\r\n""#), ("\u{0}\u{1f}x", #""\u0000\u001fx""#),
        ("Zürich 🍎 \u{7f}", "\"Zürich 🍎 \u{7f}\""), ("\\\\", #""\\\\""#),
    ])
    func `strings are written with the escapes that JSON asks for, and no others`(_ text: String, _ written: String)
        throws
    {
        #expect(JSON.string(text).text == written)
        #expect(try JSON(parsing: Array(written.utf8)) == .string(text))
    }
}
