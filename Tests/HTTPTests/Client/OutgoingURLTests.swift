import HTTP
import Testing

struct OutgoingURLTests {
    struct Accepted: Sendable {
        let text: String
        let normalised: String
        let host: String
        let port: UInt16

        init(_ text: String, _ normalised: String, _ host: String, _ port: UInt16) {
            self.text = text
            self.normalised = normalised
            self.host = host
            self.port = port
        }
    }

    @Test(arguments: [
        Accepted("https://example.com", "https://example.com/", "example.com", 443),
        Accepted("HTTPS://Example.COM/Path?Q=1#part", "https://example.com/Path?Q=1", "example.com", 443),
        Accepted("http://example.com:8080/a/../b", "http://example.com:8080/b", "example.com", 8080),
        Accepted("https://example.com./x", "https://example.com/x", "example.com", 443),
        Accepted("https://my_service/x", "https://my_service/x", "my_service", 443),
        Accepted("https://bücher.example/", "https://xn--bcher-kva.example/", "xn--bcher-kva.example", 443),
        Accepted("https://example.com/ü", "https://example.com/%c3%bc", "example.com", 443),
        Accepted("http://127.1/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://2130706433/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://0x7f000001/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://0x7f.1/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://0177.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://127.0.0.1./", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://127.1./", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://%31%32%37.0.0.1/", "http://127.0.0.1/", "127.0.0.1", 80),
        Accepted("http://0/", "http://0.0.0.0/", "0.0.0.0", 80),
        Accepted("http://[::1]:81/", "http://[::1]:81/", "::1", 81),
        Accepted("http://[0:0:0:0:0:0:0:1]/", "http://[::1]/", "::1", 80),
        Accepted("http://[::ffff:127.0.0.1]/", "http://[::ffff:127.0.0.1]/", "::ffff:127.0.0.1", 80),
        Accepted("http://[64:ff9b::127.0.0.1]/", "http://[64:ff9b::7f00:1]/", "64:ff9b::7f00:1", 80),
    ])
    func `a URL is normalised to what is sent`(sample: Accepted) throws {
        let url = try OutgoingURL(parsing: sample.text)
        #expect(url.text == sample.normalised)
        #expect(url.host == sample.host)
        #expect(url.port == sample.port)
        #expect(try OutgoingURL(parsing: url.text) == url)
    }

    @Test(arguments: OutgoingURLTests.refused)
    func `a URL that cannot be sent to is refused with the reason`(text: String, refusal: URLRejection) {
        #expect(throws: refusal) { try OutgoingURL(parsing: text) }
    }

    private static let refused: [(String, URLRejection)] = [
        ("", .noScheme), ("example.com", .noScheme), ("//example.com/", .noScheme), ("http://", .noHost),
        ("https:///path", .noHost), ("https:/example.com/", .noHost),
        ("localhost:8080/", .malformed), ("https:example.com", .malformed), ("ftp://example.com/", .unsupportedScheme),
        ("file:///etc/passwd", .unsupportedScheme), ("gopher://127.0.0.1/", .unsupportedScheme),
        ("http://exa mple.com/", .forbiddenCharacter), ("https://example.com/\r\nx: y", .forbiddenCharacter),
        ("https://example.com/\u{7f}", .forbiddenCharacter), ("https://example.com\\@evil.test/", .forbiddenCharacter),
        ("https://user@example.com/", .credentials), ("https://user:pass@example.com/", .credentials),
        ("https://:@example.com/", .credentials), ("https://@example.com/", .credentials),
        ("http://[fe80::1%25eth0]/", .zone), ("http://[fe80::1%eth0]/", .zone), ("http://[::1/", .malformedHost),
        ("http://[1.2.3.4]/", .malformedHost), ("http://a..b/", .malformedHost), ("http://./", .malformedHost),
        ("http://a../", .malformedHost), ("http://a%00b/", .malformedHost), ("http://a%2fb/", .malformedHost),
        ("http://a,b/", .malformedHost), ("http://a*b/", .malformedHost), ("http://a;b/", .malformedHost),
        ("https://example.com:0/", .malformedPort), ("https://example.com:65536/", .malformedPort),
        ("https://example.com:x/", .malformedPort), ("https://example.com:-1/", .malformedPort),
        ("https://example.com/" + String(repeating: "a", count: 2048), .tooLong),
        // Short enough, but not once it is escaped.
        ("https://example.com/" + String(repeating: "ü", count: 1000), .tooLong),
        ("http://" + String(repeating: "a", count: 64) + ".com/", .malformedHost),
    ]

    @Test func `fullwidth digits are no way around the policy`() {
        let url = try? OutgoingURL(parsing: "http://127。0。0。1/")
        #expect(url == nil || url?.literalAddress == .v4(0x7f00_0001))
    }

    @Test func `the origin is safe for logs`() throws {
        #expect(try OutgoingURL(parsing: "https://example.com/secret?token=1").origin == "https://example.com:443")
        #expect(try OutgoingURL(parsing: "http://[::1]:9/x").origin == "http://[::1]:9")
    }

    @Test func `refusals tell what to do and never repeat the URL`() {
        #expect(URLRejection.credentials.description.contains("authorization header"))
    }

    @Test func `random texts are refused or normalised for good`() {
        var random = SplitMix(state: 7)
        let pieces = [
            "http", "https", ":", "/", "//", "@", "[", "]", "::1", "127.0.0.1", "0x7f", ".", "%", "%2e", "%25", "a",
            "ü",
            "?", "#", "\u{ff0e}", "1", ":80", ":0", "\t", ";", "&", "xn--", "\u{ad}",
        ]
        for _ in 0..<20_000 {
            var text = "http://"
            for _ in 0..<(random.next() % 6) {
                text += pieces[Int(random.next() % UInt64(pieces.count))]
            }
            guard let url = try? OutgoingURL(parsing: text) else { continue }
            #expect((try? OutgoingURL(parsing: url.text)) == url, "\(text)")
        }
    }
}
