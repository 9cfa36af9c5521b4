import Database
import Testing

@Suite struct ListCursorTests {
    private static let id = [UInt8](1...16)

    @Test(arguments: [Int64.min, -1, 0, 1_790_000_000_000, .max], [Int16(0), 7, 255])
    func `a cursor that was written is read again`(order: Int64, lane: Int16) throws {
        let cursor = ListCursor(order: order, lane: lane, id: ListCursorTests.id)
        #expect(try ListCursor(text: cursor.text(filters: "events type=TEST"), filters: "events type=TEST") == cursor)
    }

    @Test func `a cursor of other filters is rejected`() {
        let text = ListCursor(order: 1, lane: 2, id: ListCursorTests.id).text(filters: "events type=TEST")
        #expect(throws: ListCursorError.otherFilters) { try ListCursor(text: text, filters: "events type=RENEWAL") }
    }

    @Test(arguments: [
        "", "x", "AAAA", "%%%", String(repeating: "A", count: 47), String(repeating: "A", count: 100_000),
    ])
    func `a text that is no cursor is rejected`(text: String) {
        #expect(throws: ListCursorError.unreadable) { try ListCursor(text: text, filters: "events") }
    }
}
