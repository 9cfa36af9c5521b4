import Base
import Daemon
import Testing

@Suite struct ServiceSlotTests {
    /// Says what is done with it.
    private struct Spoken: Service {
        struct Refused: Error {}

        let name: String
        let events: Monitor<[String]>
        var refuses = false

        func start() throws {
            if refuses { throw Refused() }
            events.change { $0.append("start \(name)") }
        }

        func drain(until deadline: ContinuousClock.Instant) { events.change { $0.append("drain \(name)") } }
        func retire(until deadline: ContinuousClock.Instant) { events.change { $0.append("retire \(name)") } }
    }

    private let events = Monitor<[String]>([])

    private func service(_ name: String, refuses: Bool = false) -> Spoken {
        Spoken(name: name, events: events, refuses: refuses)
    }

    private func slot(_ names: String...) -> ServiceSlot {
        ServiceSlot("test", names.map { service($0) }, drainTimeout: .seconds(10))
    }

    @Test func `new services work before work goes to them, and the former ones end after that`() throws {
        let slot = slot("a", "b")
        try slot.start()
        let end = try slot.replace(with: [service("c"), service("d")]) {
            events.change { $0.append("hand over") }
        }
        #expect(events.read { $0.last } == "hand over")
        let retire = try #require(end)
        retire()
        slot.drain(until: .now + .seconds(10))
        #expect(
            events.read { $0 } == [
                "start a", "start b", "start c", "start d", "hand over", "retire a", "retire b", "drain c", "drain d",
            ])
    }

    @Test func `a new service that does not start leaves the former ones at work`() throws {
        let slot = slot("a")
        try slot.start()
        #expect(throws: Spoken.Refused.self) {
            try slot.replace(with: [service("b"), service("c", refuses: true)]) { Issue.record("nothing takes over") }
        }
        #expect(events.read { $0 } == ["start a", "start b", "drain b"])
        slot.drain(until: .now + .seconds(10))
        #expect(events.read { $0 }.last == "drain a")
    }

    @Test func `a service that does not start at first ends those before it`() {
        let slot = ServiceSlot(
            "test", [service("a"), service("b", refuses: true), service("c")], drainTimeout: .seconds(10))
        #expect(throws: Spoken.Refused.self) { try slot.start() }
        #expect(events.read { $0 } == ["start a", "drain a"])
    }

    @Test func `nothing is replaced once the process ends`() throws {
        let slot = slot("a")
        try slot.start()
        slot.drain(until: .now + .seconds(10))
        let end = try slot.replace(with: [service("b")]) { Issue.record("nothing takes over") }
        #expect(end == nil)
        #expect(events.read { $0 } == ["start a", "drain a", "start b", "drain b"])
    }
}
