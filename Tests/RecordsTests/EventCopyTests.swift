import Base
import Postgres
import Queue
import TestSupport
import Testing

@testable import Records

@Suite struct EventCopyTests {
    private let old = [UInt8](repeating: 1, count: 16)
    private let new = [UInt8](repeating: 0xab, count: 16)

    private func renamed(_ body: String) -> String? {
        EventCopy.renamed(Array(body.utf8), from: old, to: new).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func `only the member is renamed, and what looks like it inside of a text is not`() {
        let (was, id) = (UUIDText.upper(old), UUIDText.upper(new))
        let text = #"{"event":{"note":"\"id\":\"\#(was)\" é","id":"\#(was)","other_id":"\#(was)"}}"#
        #expect(
            renamed(text) == #"{"event":{"note":"\"id\":\"\#(was)\" é","id":"\#(id)","other_id":"\#(was)"}}"#)
    }

    @Test func `a body that has the member not at all, or twice, gets no other id`() {
        let was = UUIDText.upper(old)
        #expect(renamed(#"{"event":{}}"#) == nil)
        #expect(renamed(#"{"id":"\#(was)","event":{"id":"\#(was)"}}"#) == nil)
        #expect(EventCopy.renamed([0xff], from: old, to: new) == nil)
    }

    @Test func `what cannot be sent again says why, and leaves nothing`() throws {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint()
        let delivery = try #require(try bench.insert([Bench.event(1, body: #"{"event":{}}"#)]).first)
        func send(_ id: DeliveryID) throws -> EventCopy.Outcome {
            try EventCopy.send(id, as: new, now: Bench.now, on: bench.connection)
        }
        #expect(try send(delivery.id) == .bodyUnclear)
        #expect(try send(DeliveryID(lane: delivery.id.lane, bytes: new)) == .notFound)
        try bench.database.execute("UPDATE entitled.event SET body = ''")
        #expect(try send(delivery.id) == .bodyGone)
        _ = try EndpointStore.disable(endpoint, reason: "by an operator", on: bench.connection)
        #expect(try send(delivery.id) == .endpointDisabled("by an operator"))
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event_copy") == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event") == 1)
    }
}
