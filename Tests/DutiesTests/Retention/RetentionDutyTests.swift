import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

@Suite struct RetentionDutyTests {
    @Test func `it goes on by itself, and ends at once, also in the middle of a statement`() throws {
        let bench = try RetentionFixture()
        try bench.receiveAndApply(1, daysAgo: 500)
        let service = DutyService(
            RetentionDuty(bench.round), session: PostgresSession(bench.database.target(role: "entitled_worker")),
            leadership: bench.leadership, logger: bench.log.logger, metrics: bench.metrics)
        service.start()
        try bench.log.wait(for: "day partition dropped")
        let deadline = ContinuousClock.now + .seconds(20)
        service.drain(until: deadline)
        #expect(ContinuousClock.now < deadline)
        #expect(try !bench.days("notification").contains(500))
    }

    @Test func `what fails is told and tried again, and the rest of the process does not notice`() throws {
        let bench = try RetentionFixture()
        try bench.owner.query("REVOKE SELECT ON entitled.notification_default FROM entitled_worker")
        #expect(throws: PostgresError.self) { try bench.runRetention() }
        try bench.owner.query("GRANT SELECT ON entitled.notification_default TO entitled_worker")
        try bench.runRetention()
    }
}
