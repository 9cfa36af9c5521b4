import Base
import FoundationEssentials
import Testing

@testable import AppStore

/// What the quick reader takes, it must take as the library does; what it does not take is the library's.
@Suite struct PlainObjectTests {
    /// All that can be asked of a payload, to be compared.
    private struct Everything: WirePayload, Equatable {
        var said: [String: String] = [:]
        var nested: [String: Everything] = [:]
        var lists: [String: [Everything]] = [:]

        init(_ members: Members) throws {
            for name in members.names + ["absent"] {
                let key = MemberName(stringValue: name)
                said[name] = [
                    "\(members.isThere(key))", members.text(key) ?? "-", members.integer(key).map { "\($0)" } ?? "-",
                    members.flag(key).map { "\($0)" } ?? "-", members.texts(key)?.joined(separator: "|") ?? "-",
                ].joined(separator: " ")
                nested[name] = members.object(key)
                lists[name] = members.objects(key)
            }
            if members.flag("throws") == true { throw CancellationError() }
        }
    }

    private static let plain = [
        "{}", #"{"a":"b"}"#, #"{"a":""}"#, #"{"":"b"}"#, #"{"a":0}"#, #"{"a":-1}"#, #"{"a":999999999999999999}"#,
        #"{"a":-999999999999999999,"b":true,"c":false,"d":null}"#,
        #"{"a":[],"b":["x","y"],"c":[1],"d":["x",1],"e":[["x"]]}"#,
        #"{"a":{},"b":{"c":{"d":"e"}},"f":[{"g":1},{"g":2}],"h":[{"g":1},2],"i":"z"}"#,
        #"{"a":{"throws":true},"b":[{"throws":true}],"c":"after"}"#, #"{"abcdefgh":"12345678","abcdefgi":"123456789"}"#,
        #"{"notificationType":"DID_RENEW","data":{"status":1,"signedTransactionInfo":"a.b.c"},"version":"2.0"}"#,
    ]

    private static let others = [
        "", " ", "{", "}", "[]", "1", "null", #"{"a":1} "#, #" {"a":1}"#, #"{"a": 1}"#, #"{"a":1.0}"#, #"{"a":1e3}"#,
        #"{"a":01}"#,
        #"{"a":-0}"#, #"{"a":-}"#, #"{"a":1000000000000000000}"#, #"{"a":"\n"}"#, #"{"a":"ü"}"#, #"{"ü":1}"#,
        #"{"a":1,"a":2}"#,
        #"{"a":tru}"#, #"{"a":truee}"#, #"{"a":1,}"#, #"{,"a":1}"#, #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, #"{"a":1}}"#,
        #"{"a":[1,]}"#,
        #"{"a":[1}"#, "{\"a\":\"\u{0}\"}", "{\"a\":\"\u{7f}\"}", "{\"a\":\"tab\t\"}", #"{"a":"b"#, #"{"a":"b\"}"#,
        #"{"a":[[[[[[[[1]]]]]]]]}"#, #"{"a":nul}"#, #"{"a":1"b":2}"#,
    ]

    private func byLibrary(_ bytes: [UInt8]) -> Everything? {
        JSONText.isUTF8Object(bytes) ? try? JSONDecoder().decode(Everything.self, from: Data(bytes)) : nil
    }

    @Test(arguments: plain) func plainTextReadsAsByTheLibrary(_ text: String) throws {
        let object = try #require(PlainObject(Array(text.utf8)))
        #expect(try Everything(Members(object)) == byLibrary(Array(text.utf8)))
    }

    @Test(arguments: others) func otherTextIsTheLibrarys(_ text: String) {
        let bytes = Array(text.utf8)
        if let object = PlainObject(bytes) {
            // DEL is no control character of JSON.
            #expect(text.contains("\u{7f}"))
            #expect((try? Everything(Members(object))) == byLibrary(bytes))
        }
        #expect(Everything(payload: bytes) == byLibrary(bytes))
    }

    /// Bytes changed, taken away, doubled and swapped for others that mean something in JSON.
    @Test func changedTextReadsAsByTheLibrary() {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0041", "0", "1", "-", ".", "e", "true", "null", " ", "\u{0}",
            "é", "a", "\"a\":1,",
        ].map { Array($0.utf8) }
        let texts = (PlainObjectTests.plain + PlainObjectTests.others).map { Array($0.utf8) }.filter { !$0.isEmpty }
        var taken = 0
        for _ in 0..<40_000 {
            var bytes = texts.randomElement(using: &random) ?? []
            for _ in 0...Int.random(in: 0...2, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                let end = min(bytes.count, place + Int.random(in: 0...2, using: &random))
                bytes.replaceSubrange(place..<end, with: pieces.randomElement(using: &random) ?? [])
            }
            guard let object = PlainObject(bytes) else { continue }
            taken += 1
            let ours = try? Everything(Members(object))
            #expect(ours == byLibrary(bytes), "\(String(decoding: bytes, as: UTF8.self))")
        }
        #expect(taken > 500)
    }

    @Test func plainTextIsMeasuredToItsFirstOtherByte() {
        for length in 0...24 {
            for other in [UInt8(0), 0x1f, 0x22, 0x5c, 0x80, 0xff] {
                for plain in [UInt8(0x20), 0x21, 0x23, 0x5b, 0x5d, 0x7f] {
                    let bytes = [UInt8](repeating: plain, count: length) + [other] + [UInt8](repeating: plain, count: 9)
                    #expect(
                        bytes.withUnsafeBytes { PlainText.length(of: $0) } == length,
                        "\(other) behind \(length) of \(plain)")
                }
            }
        }
    }
}
