import Base
import Database
import Operator
import Postgres
import TestSupport
import Testing

/// What is quick stays quick while other answers wait for what is slow.
///
/// Serialised: it measures how long an answer takes.
@Suite(.serialized) struct SlowAnswerTests {
    @Test func `the overview is answered while more reports and charts are counted than there are threads`() throws {
        let fixture = try OperatorFixture()
        // Nothing that the overview reads.
        let blocker = try fixture.database.connect()
        _ = try blocker.query("BEGIN")
        _ = try blocker.query(
            "LOCK TABLE entitled.fact, entitled.report_purchase, entitled.report_refresh IN ACCESS EXCLUSIVE MODE")
        let slow = [
            "/charts/active?from=2026-01-01", "/charts/mrr?from=2026-02-01", "/charts/trials?from=2026-03-01",
            "/report?from=2026-01-01", "/report?from=2026-02-01", "/report?from=2026-03-01",
        ]
        let threads = slow.map { path in TestThread { fixture.get(path) } }
        try eventually("a chart and a report are being counted") {
            try fixture.database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'")
                >= 2
        }
        var slowest = Duration.zero
        for role in OperatorRole.allCases {
            let began = ContinuousClock.now
            let call = fixture.get("/overview", as: role)
            slowest = max(slowest, .now - began)
            #expect(call.status == 200, "\(call.text)")
        }
        _ = try blocker.query("ROLLBACK")
        let answers = try threads.map { try $0.value() }
        // Less than those wait who may: a thread that they held would be free only then.
        #expect(slowest < .seconds(3), "\(slowest)")
        // Those that did not wait say that it is being counted.
        #expect(answers.contains { $0.status == 503 && $0.header("retry-after") != nil }, "\(answers.map(\.status))")
    }

    @Test func `a room has so many places, and one for each caller`() {
        let room = WaitingRoom(limit: 2)
        room.wait(as: "anna") { first in
            #expect(first)
            room.wait(as: "anna") { again in #expect(!again) }
            room.wait { second in
                #expect(second)
                room.wait { third in #expect(!third) }
            }
            room.wait(as: "ben") { other in #expect(other) }
        }
        room.wait(as: "anna") { later in #expect(later) }
    }
}
