import Base
import Crypto
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// An event that an operator sends again.
@Suite struct EventResendTests {
    private let bench: ChangeFixture
    private let worker: PostgresConnection
    private let now = SystemClock().now()
    private static let event = NewEvent(
        lane: Lane(number: 7), id: Array(Digest.sha256(Array("event".utf8)).prefix(16)), type: "RENEWAL", app: "demo",
        environment: .production, originalTransactionID: "20001", body: Array(#"{"event":{"type":"RENEWAL"}}"#.utf8))
    private static let id = UUIDText.upper(event.id)

    init() throws {
        bench = try ChangeFixture()
        worker = try bench.worker()
        let made = try worker.transaction { try EventTable.insert([Self.event], now: now - 60_000, on: worker) }
        try DeliveryTable.settle(
            made.map {
                DeliveryTable.Settlement(
                    of: $0, state: .delivered, attempts: 1, wait: 0, status: 200, reason: nil, attempt: nil)
            }, now: now - 30_000, on: worker)
    }

    private func addEndpoint(_ id: String, events: String = "{}", ordering: Ordering = .none) throws {
        try bench.database.execute(
            """
            INSERT INTO entitled.endpoint (id, url, environments, events, apps, created_ms, ordering)
            VALUES ($1, 'https://example.com/hook', '{}', $2::text[], '{}', 1000, $3)
            """, [.text(id), .text(events), .text(ordering.rawValue)])
    }

    private func ask(_ endpoint: String?, _ key: String) throws -> ChangeEnding? {
        try bench.ending(
            of: ChangeFixture.request(
                .eventResend, Self.id, .object(["endpoint": endpoint.map { .string($0) }]), as: "support", key: key))
    }

    private func states() throws -> [String] {
        try bench.database.texts(
            "SELECT concat_ws(' ', endpoint, state, round_start) FROM entitled.delivery ORDER BY endpoint")
    }

    private func sent(_ ending: ChangeEnding?) -> [String]? {
        guard case .done(let document) = ending else { return nil }
        return document["sent"]?.arrayValue?.compactMap { $0["endpoint"]?.stringValue }
    }

    @Test func `it goes to every endpoint that takes it, also to one that never had it`() throws {
        try addEndpoint("ep_2")
        try addEndpoint("ep_3", events: "{TRANSFER}")
        try addEndpoint("ep_4")
        try bench.database.execute("UPDATE entitled.endpoint SET disabled_reason = 'x' WHERE id = 'ep_4'")
        let ending = try ask(nil, "1")
        #expect(sent(ending) == ["ep_1", "ep_2"], "\(ending.debugDescription)")
        guard case .done(let document)? = ending else { return }
        #expect(document["skipped"]?.arrayValue?.compactMap { $0["endpoint"]?.stringValue } == ["ep_4"])
        #expect(try states() == ["ep_1 0 1", "ep_2 0 0"])
        #expect(try bench.audit().last == "support event_resend \(Self.id) done 1")
    }

    @Test func `it goes to one endpoint alone`() throws {
        try addEndpoint("ep_2")
        try addEndpoint("ep_3", events: "{TRANSFER}")
        #expect(try sent(ask("ep_2", "1")) == ["ep_2"])
        #expect(try states() == ["ep_1 1 0", "ep_2 0 0"])
        let refused = try ask("ep_3", "2")
        #expect(refused?.message?.contains("does not take this event") == true, "\(refused.debugDescription)")
        #expect(try ask("ep_9", "3")?.outcome == .refused)
        #expect(try states() == ["ep_1 1 0", "ep_2 0 0"])
    }

    @Test func `in an order it waits for what is open of its purchase`() throws {
        try addEndpoint("ep_2", ordering: .purchase)
        let later = NewEvent(
            lane: Lane(number: 7), id: Array(Digest.sha256(Array("later".utf8)).prefix(16)), type: "RENEWAL",
            app: "demo",
            environment: .production, originalTransactionID: "20001", body: Array("{}".utf8))
        _ = try worker.transaction { try EventTable.insert([later], now: now, on: worker) }
        guard case .done(let document)? = try ask("ep_2", "1") else { throw TestFailure("not sent") }
        // It is the earlier one, and what waits waits for it no more than before.
        #expect(document["sent"]?.arrayValue?.first?["state"]?.stringValue != nil)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE endpoint = 'ep_2'") == 2)
        #expect(
            try bench.database.count("SELECT count(*) FROM entitled.delivery WHERE endpoint = 'ep_2' AND state = 0")
                >= 1)
    }

    @Test func `an event without a body is refused, and a copy goes to its endpoint alone`() throws {
        try addEndpoint("ep_2")
        try bench.database.execute(
            "INSERT INTO entitled.event_copy (lane, id, original, endpoint, created_ms) SELECT lane, id, id, 'ep_1', 1 FROM entitled.event"
        )
        #expect(try sent(ask(nil, "1")) == ["ep_1"])
        try bench.database.execute("UPDATE entitled.event SET body = ''")
        let refused = try ask(nil, "2")
        #expect(refused?.message?.contains("not kept any more") == true, "\(refused.debugDescription)")
        let unknown = ChangeFixture.request(
            .eventResend, "00000000-0000-4000-8000-000000000000", as: "support", key: "3")
        #expect(try bench.ending(of: unknown)?.outcome == .refused)
    }
}
