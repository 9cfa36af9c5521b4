import Database
import Testing

@testable import Worker

/// What consumers ask for with their answers.
struct ConsumerDirectivesTests {
    @Test func `a consumer that asks for a pause with every answer hurries nothing`() {
        var changes = ConsumerDirectives()
        changes.note(ConsumerDirectives.Change(pause: 1), of: "we_1", now: 1000)
        #expect(!changes.isEmpty)
        #expect(!changes.isUrgent)
    }

    @Test func `one that asks for no more is heard at once`() {
        var changes = ConsumerDirectives()
        changes.note(ConsumerDirectives.Change(disabling: .gone), of: "we_1", now: 1000)
        #expect(changes.isUrgent)
    }
}
