import Base
import Testing

struct OrderedJSONTests {
    private func read(_ text: String, verbatim: Set<String> = []) throws -> JSON {
        try JSON(ordered: Array(text.utf8), verbatim: verbatim)
    }

    @Test(arguments: [
        #"{"b":1,"a":{"z":[],"y":{}},"":null}"#, #"[true,false,null,-1,9223372036854775807]"#, #""é 🦊""#, "0",
        #"[1.50,-0,1e9,12345678901234567890,0.1]"#, #""\"\\\n\r\t\u0001""#, "[[[[]]]]",
    ])
    func `what is written as this program writes it is written again as it was`(text: String) throws {
        #expect(try read(text).text == text)
    }

    @Test func `escapes of others are read`() throws {
        #expect(try read(#""\/\b\f\u00e9\ud83e\udd8a""#) == .string("/\u{8}\u{c}é🦊"))
        #expect(try read(#""\ud83e x \udd8a""#) == .string("\u{FFFD} x \u{FFFD}"))
    }

    @Test func `members of the outermost object stay as they are where that is asked for`() throws {
        let text = #"{"body":{"a": "\/", "n": 1.0},"more":{"body":1},"none":null}"#
        let json = try read(text, verbatim: ["body", "none"])
        #expect(json.text == text)
        #expect(json["body"] == .raw(Array(#"{"a": "\/", "n": 1.0}"#.utf8)))
        #expect(json["more"]?["body"] == .int(1))
        #expect(json["none"] == .null)
    }

    @Test(arguments: [
        "", " ", "{", "[1,", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{a:1}"#, "01", "-", "1.", "1e", "+1", ".5", "nul",
        "tru e",
        #""abc"#, #""\x""#, #""\u12g4""#, #""\u12"#, "\"\u{1}\"", "{}{}", "[1]x",
    ])
    func `what is no JSON is refused`(text: String) {
        #expect(throws: JSON.Malformed.self) { try read(text) }
    }

    @Test func `bytes that are no text, and depth, are refused`() {
        #expect(throws: JSON.Malformed.self) { try JSON(ordered: [0x22, 0xff, 0x22]) }
        let deep = String(repeating: "[", count: 100_000)
        #expect(throws: JSON.Malformed.self) { try JSON(ordered: Array(deep.utf8)) }
        #expect(throws: Never.self) { try JSON(ordered: Array("[[1]]".utf8), deepest: 2) }
        #expect(throws: JSON.Malformed.self) { try JSON(ordered: Array("[[[1]]]".utf8), deepest: 2) }
    }
}
