import Base
import Database
import Testing

@Suite struct CustomHeaderTests {
    struct Good: Sendable {
        let text: String
        let name: String
        let value: String
    }

    @Test(arguments: [
        Good(text: "X-Tenant: demo", name: "X-Tenant", value: "demo"),
        Good(text: "X-Tenant:demo", name: "X-Tenant", value: "demo"),
        Good(text: "x: \t a b:c=\"d\" \t", name: "x", value: "a b:c=\"d\""),
        Good(text: "!#$%&'*+-.^_`|~09azAZ: ~", name: "!#$%&'*+-.^_`|~09azAZ", value: "~"),
        Good(text: "Cookie: session=1", name: "Cookie", value: "session=1"),
        Good(text: "Accept: */*", name: "Accept", value: "*/*"),
        Good(text: "hosts: 1", name: "hosts", value: "1"),
        Good(text: "webhook: 1", name: "webhook", value: "1"),
    ])
    func `a header is read as it is written`(good: Good) throws {
        let header = try CustomHeader(parsing: good.text)
        #expect(header.name == good.name)
        #expect(header.value.exposed == good.value)
        #expect(header.isNamed(good.name.uppercased()))
    }

    @Test(arguments: [
        "", "X-Tenant", ": value", " X: value", "X : value", "X Y: value", "Ü: value", "X(1): value", "X\u{301}: value",
        "X:", "X: ", "X: \t", "X: a\r\nY: b", "X: a\nb", "X: a\rb", "X: a\0b", "X: a\u{7f}", "X: a\u{1}", "X: ü",
        "X:\u{301}a", "X\r\n: a", "X:\r\n a",
    ])
    func `what could be read as anything else is refused`(text: String) {
        #expect(throws: CustomHeader.Rejection.self) { try CustomHeader(parsing: text) }
    }

    @Test(arguments: [
        "webhook-id", "Webhook-Signature", "webhook-", "X-RevenueCat-Webhook-Signature", "entitled-attempt",
        "ENTITLED-X",
        "Host", "content-type", "Content-Length", "content-encoding", "Connection", "TE", "Transfer-Encoding",
        "trailer",
        "upgrade", "Expect", "proxy-authorization", "Proxy-Connection", "Keep-Alive", "HTTP2-Settings", "authorization",
        "User-Agent",
    ])
    func `names that belong to somebody else are refused, and it says why`(name: String) {
        let refusal = #expect(throws: CustomHeader.Rejection.self) { try CustomHeader(name: name, value: "hunter2") }
        #expect(refusal?.description.contains(name) == true)
        #expect(refusal?.description.contains("hunter2") == false)
    }

    @Test func `a header has 4096 bytes at most`() throws {
        _ = try CustomHeader(name: "x", value: String(repeating: "a", count: 4095))
        #expect(throws: CustomHeader.Rejection.self) {
            try CustomHeader(name: "x", value: String(repeating: "a", count: 4096))
        }
    }

    @Test func `headers come back from the text that is sealed`() throws {
        let headers = try [
            CustomHeader(name: "X-One", value: "a: b  c"), CustomHeader(name: "x-two", value: "\"\t\""),
        ]
        #expect(CustomHeaderText.decode(CustomHeaderText.encode(headers)) == headers)
        #expect(CustomHeaderText.decode(Array("nonsense\n".utf8)) == nil)
    }
}
