import Base
import Postgres
import TestSupport
import Testing

@testable import Database

/// Lists against a plain filter and sort of what was stored.
@Suite struct ListTests {
    /// An event as it was stored, by its number.
    private struct Stored {
        let number: UInt8
        let type: String
        let purchase: String?
        let lane: Int16
        let created: Int64

        var id: String { UUIDText.upper([UInt8](repeating: number, count: 16)) }
    }

    /// 60 events over three years, several of them in one millisecond, in two lanes and about three purchases or none.
    private static let stored: [Stored] = (0..<60).map { number in
        let age: Int64 = number < 20 ? Int64(number / 4) : Int64(number) * Int64(number) * 26_000_000
        return Stored(
            number: UInt8(number), type: ["RENEWAL", "TEST", "EXPIRATION"][number % 3],
            purchase: ["2000", "3000", "4000", nil][number % 4], lane: Int16(number % 2 == 0 ? 5 : 200),
            created: Bench.now - age)
    }

    private static func newestFirst(_ condition: (Stored) -> Bool) -> [String] {
        stored.filter(condition).sorted { ($0.created, $0.lane, $0.number) > ($1.created, $1.lane, $1.number) }
            .map(\.id)
    }

    @discardableResult
    private func store(on bench: Bench) throws -> [DueDelivery] {
        try ListTests.stored.flatMap { event in
            try bench.insert(
                [Bench.event(event.number, type: event.type, purchase: event.purchase, lane: event.lane)],
                now: event.created)
        }
    }

    /// All pages, one after the other, with a cursor that goes through its text.
    private func all(
        _ filter: EventQuery.Filter, since: Int64? = nil, until: Int64? = nil, by limit: Int, on bench: Bench
    ) throws -> [String] {
        var found: [String] = []
        var after: ListCursor?
        repeat {
            let page = try EventQuery.list(
                filter, ListRange(since: since, until: until, after: after, limit: limit), now: Bench.now,
                on: bench.connection)
            #expect(page.rows.count <= limit)
            found += page.rows.map(\.id)
            after = try page.next.map { try ListCursor(text: $0.text(filters: "x"), filters: "x") }
        } while after != nil
        return found
    }

    /// Each part of a scan needs several round trips, which no shorter part makes quicker.
    @Test func `a list reaches its beginning where the database is far away`() throws {
        let bench = try Bench()
        let (day, far) = (Int64(86_400_000), Bench.now - 40 * 365 * 86_400_000)
        var (end, pages, stop) = (Bench.now, 0, ScanStop?.none)
        while end > far, pages < 20 {
            pages += 1
            var scan = BackwardScan(
                from: far, to: end, now: Bench.now, part: stop?.part, budget: .milliseconds(80))
            let found = try scan.collect(1, on: bench.connection) { part, _ -> [Int64] in
                // The way there and back.
                _ = try bench.connection.query("SELECT pg_sleep(0.03)")
                return part.contains(far + day) ? [far + day] : []
            }
            guard found.isEmpty else { return }
            let next = try #require(scan.stop)
            (end, stop) = (next.instant, next)
        }
        Issue.record("after \(pages) pages the list was read back to \((Bench.now - end) / day) days ago")
    }

    @Test func `events are listed the newest first, whatever the size of a page`() throws {
        let bench = try Bench()
        try store(on: bench)
        for limit in [1, 2, 7, 59, 60, 61] {
            #expect(try all(.init(), by: limit, on: bench) == ListTests.newestFirst { _ in true }, "pages of \(limit)")
        }
        var filter = EventQuery.Filter()
        filter.type = "TEST"
        #expect(try all(filter, by: 3, on: bench) == ListTests.newestFirst { $0.type == "TEST" })
        let (since, until) = (Bench.now - 90_000_000_000, Bench.now - 1)
        #expect(
            try all(.init(), since: since, until: until, by: 5, on: bench)
                == ListTests.newestFirst { $0.created >= since && $0.created < until })
        #expect(try all(.init(), since: until, until: since, by: 5, on: bench).isEmpty)
    }

    @Test func `events of purchases, and events by name, are listed alone`() throws {
        let bench = try Bench()
        try store(on: bench)
        var filter = EventQuery.Filter()
        filter.subject = EventQuery.Subject(originalTransactionID: "2000")
        #expect(try all(filter, by: 4, on: bench) == ListTests.newestFirst { $0.purchase == "2000" })
        filter.subject?.names.insert(EventTraceQuery.EventName(lane: Lane(number: 200), id: ListTests.stored[3].id))
        filter.subject?.names.insert(EventTraceQuery.EventName(lane: Lane(number: 5), id: ListTests.stored[0].id))
        #expect(try all(filter, by: 4, on: bench) == ListTests.newestFirst { $0.purchase == "2000" || $0.number == 3 })
        filter.subject = EventQuery.Subject(originalTransactionID: "unknown")
        #expect(try all(filter, by: 4, on: bench).isEmpty)
    }

    @Test func `an event is found by its id without its lane`() throws {
        let bench = try Bench()
        try store(on: bench)
        let found = try EventQuery.find([UInt8](repeating: 7, count: 16), on: bench.connection)
        #expect(found.map(\.id) == [ListTests.stored[7].id] && found.map(\.lane.number) == [200])
        #expect(
            try EventQuery.body(of: try #require(found.first), on: bench.connection) == Array(#"{"event":{}}"#.utf8))
        #expect(try EventQuery.find([UInt8](repeating: 99, count: 16), on: bench.connection).isEmpty)
    }

    @Test func `deliveries are listed by event, type, answer and attempts, page by page`() throws {
        let bench = try Bench()
        let (all, tests) = (try bench.addEndpoint(), try bench.addEndpoint(events: ["TEST"]))
        for due in try store(on: bench) where due.endpoint == all && due.event[0] % 5 == 0 {
            try bench.settle(due, .dead, attempts: 6, status: due.event[0] == 10 ? 404 : 503, reason: "status")
        }
        func pages(_ filter: DeliveryQuery.Filter, by limit: Int) throws -> [String] {
            var found: [String] = []
            var after: ListCursor?
            repeat {
                let page = try DeliveryQuery.list(filter, ListRange(after: after, limit: limit), on: bench.connection)
                found += page.rows.map { "\($0.event) \($0.endpoint)" }
                after = page.next
            } while after != nil
            return found
        }
        func expected(_ endpoints: [String], _ condition: (Stored) -> Bool) -> Set<String> {
            Set(ListTests.newestFirst(condition).flatMap { event in endpoints.map { "\(event) \($0)" } })
        }
        let everything = expected([all]) { _ in true }.union(expected([tests]) { $0.type == "TEST" })
        for limit in [1, 9, 80, 81] {
            let found = try pages(.init(), by: limit)
            #expect(Set(found) == everything && found.count == everything.count, "pages of \(limit)")
        }
        var filter = DeliveryQuery.Filter(state: .dead)
        #expect(Set(try pages(filter, by: 4)) == expected([all]) { $0.number % 5 == 0 })
        filter.lastStatus = 500...599
        #expect(Set(try pages(filter, by: 4)) == expected([all]) { $0.number % 5 == 0 && $0.number != 10 })
        filter = DeliveryQuery.Filter()
        filter.eventType = "TEST"
        #expect(Set(try pages(filter, by: 4)) == expected([all, tests]) { $0.type == "TEST" })
        filter = DeliveryQuery.Filter()
        filter.attemptsAtLeast = 6
        #expect(Set(try pages(filter, by: 4)) == expected([all]) { $0.number % 5 == 0 })
        filter = DeliveryQuery.Filter()
        filter.events = [EventTraceQuery.EventName(lane: Lane(number: 200), id: ListTests.stored[1].id)]
        #expect(Set(try pages(filter, by: 4)) == expected([all, tests]) { $0.number == 1 })
    }
}
