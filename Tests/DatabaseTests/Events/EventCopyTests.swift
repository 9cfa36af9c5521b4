import Base
import Postgres
import TestSupport
import Testing

@testable import Database

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
        func send(_ id: DeliveryID) throws -> EventCopy.CopyResult {
            try EventCopy.send(id, as: new, now: Bench.now, on: bench.connection)
        }
        #expect(try send(delivery.id) == .bodyUnclear)
        #expect(try send(DeliveryID(lane: delivery.id.lane, bytes: new)) == .notFound)
        try bench.database.execute("UPDATE entitled.event SET body = ''")
        #expect(try send(delivery.id) == .bodyGone)
        _ = try EndpointTable.disable(endpoint, reason: "by an operator", on: bench.connection)
        #expect(try send(delivery.id) == .endpointDisabled("by an operator"))
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event_copy") == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.event") == 1)
    }

    @Test func `a copy has its original's number, and neither takes one nor waits for anything`() throws {
        let bench = try Bench()
        let endpoint = try bench.addEndpoint(ordering: .purchase)
        func event(_ number: UInt8) -> NewEvent {
            let id = UUIDText.upper([UInt8](repeating: number, count: 16))
            return Bench.event(number, body: #"{"event":{"id":"\#(id)"}}"#)
        }
        let first = try #require(try bench.insert([event(1), event(2), event(3)]).first)
        let second = DeliveryID(lane: first.id.lane, event: event(2).id, endpoint: endpoint)
        // Its lane is somebody else's at this moment.
        let owner = try bench.database.connect(role: "entitled_worker")
        let outcome = try owner.transaction {
            try Fence.lock([first.id.lane], on: owner)
            return try EventCopy.send(second, as: new, now: Bench.now, on: bench.connection)
        }
        guard case .sent(_, let copy) = outcome else { throw TestFailure("\(outcome)") }
        let due = try bench.due([endpoint: 9])
        #expect(Dictionary(uniqueKeysWithValues: due.map { ($0.id, $0.sequence) }) == [first.id: 1, copy: 2])
        let sent = try #require(due.first { $0.id == copy })
        #expect(try bench.settle(sent, .pending, wait: 3_600_000).isEmpty)
        // Nothing of the purchase waits for it.
        var next = [first]
        for number in 1...3 {
            #expect(next.compactMap(\.sequence) == [Int64(number)])
            next = try bench.settle(try #require(next.first), .delivered)
        }
        #expect(try bench.insert([event(4)]).map(\.sequence) == [4])
        // A copy's copy is one of the same event.
        guard
            case .sent = try EventCopy.send(
                copy, as: [UInt8](repeating: 0xcd, count: 16), now: Bench.now, on: bench.connection)
        else { throw TestFailure("it was not copied") }
        #expect(
            try bench.database.texts("SELECT sequence::text FROM entitled.event ORDER BY id") == [
                "1", "2", "3", "4", "2", "2",
            ])
    }
}
