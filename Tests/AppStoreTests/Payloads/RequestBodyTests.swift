import Testing

@testable import AppStore

struct RequestBodyTests {
    @Test(arguments: [
        #"{"signedPayload":"a.b.c"}"#, #" { "signedPayload" : "a.b.c" } "#, #"{"signedPayload":"a.b\u002ec"}"#,
        #"{"signedPayload":"a.b.c","more":[1,{}]}"#, #"{"more":null,"signedPayload":"a.b.c"}"#,
    ])
    func `the payload is found however the body is written`(body: String) {
        #expect(RequestBody.signedPayload(in: Array(body.utf8)) == Array("a.b.c".utf8))
    }

    @Test(arguments: [
        "", "{}", "[]", "null", "a.b.c", #""a.b.c""#, #"{"signedPayload":null}"#, #"{"signedPayload":1}"#,
        #"{"signedPayload":["a.b.c"]}"#, #"{"signedPayload":"a.b.c""#, #"{"signedPayload":"a.b.c"}}"#,
        #"[{"signedPayload":"a.b.c"}]"#, "\u{feff}{\"signedPayload\":\"a.b.c\"}", #"{"SignedPayload":"a.b.c"}"#,
        "{\"signedPayload\":\"a.b\u{1}c\"}", #"{"signedPayload":"a"b"}"#, #"{"signedPayload":"a.b.c\"}"#,
    ])
    func `other bodies are malformed`(body: String) {
        #expect(RequestBody.signedPayload(in: Array(body.utf8)) == nil)
    }

    @Test func `a body must be UTF-8`() {
        let plain = Array(#"{"signedPayload":"a"#.utf8)
        #expect(RequestBody.signedPayload(in: plain + [0xff] + Array(#""}"#.utf8)) == nil)
        #expect(
            RequestBody.signedPayload(
                in: Array(#"{"signedPayload":"a"}"#.utf8).flatMap { byte -> [UInt8] in [byte, 0] }) == nil)
    }

    @Test func `deep nesting is refused, not followed`() {
        let deep = String(repeating: "[", count: 500_000)
        #expect(RequestBody.signedPayload(in: Array(#"{"signedPayload":"a","x":\#(deep)"#.utf8)) == nil)
        let closed = deep + String(repeating: "]", count: 500_000)
        #expect(RequestBody.signedPayload(in: Array(#"{"signedPayload":"a","x":\#(closed)}"#.utf8)) == nil)
    }

    @Test(arguments: [
        "a.b.c", "a.b.c\n", " \r\n\ta.b.c ", #"{"signedPayload":"a.b.c"}"#, "{\"signedPayload\":\"a.b.c\"}\n",
    ])
    func `a file holds a body or the JWS alone`(text: String) {
        #expect(RequestBody.jws(inFile: Array(text.utf8)) == Array("a.b.c".utf8))
    }

    @Test func `a file with neither is given on as it is`() {
        #expect(RequestBody.jws(inFile: Array(" {} ".utf8)) == Array("{}".utf8))
        #expect(RequestBody.jws(inFile: []) == [])
        #expect(RequestBody.jws(inFile: Array(" \n".utf8)) == [])
    }
}
