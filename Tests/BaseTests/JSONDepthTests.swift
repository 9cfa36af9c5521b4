import Base
import Testing

@Suite struct JSONDepthTests {
    private func nested(_ open: String, _ close: String, _ depth: Int) -> [UInt8] {
        Array((String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)).utf8)
    }

    @Test func `what is nested deeper than asked for is refused, and brackets in strings count for nothing`() throws {
        for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
            #expect(throws: Never.self) { try JSON(parsing: nested(open, close, 16), deepest: 16) }
            #expect(throws: JSON.TooDeep.self) { try JSON(parsing: nested(open, close, 17), deepest: 16) }
        }
        let text = #"["[[[[\"[[[[","\\",[[]],{"{{{{":"[["}]"#
        #expect(try JSON(parsing: Array(text.utf8), deepest: 3) == JSON(parsing: Array(text.utf8)))
    }
}
