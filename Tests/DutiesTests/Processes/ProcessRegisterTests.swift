import Base
import Daemon
import Database
import Duties
import Postgres
import TestSupport
import Testing

/// What processes say of themselves, and which of them work by different configurations.
@Suite struct ProcessRegisterTests {
    private static let lease: Int64 = 20_000

    private func register(
        _ role: String, _ number: Int64, id: UInt8, log: LogTape = LogTape(), in database: TestDatabase
    ) -> ProcessRegister {
        ProcessRegister(
            [UInt8](repeating: id, count: 16), role: role, version: "1.0.0", configuration: ConfigurationDigest(number),
            cleans: role == "worker", session: PostgresSession(database.target(role: "entitled_\(role)")),
            clock: SystemClock(), logger: log.logger)
    }

    private func living(_ database: TestDatabase) throws -> [RunningProcess] {
        try ProcessTable.living(workersSeenWithin: Self.lease, on: database.connect(role: "entitled_api"))
    }

    @Test(arguments: ["ingest", "worker", "api", "console"])
    func `a process is there from its start to its end, by its own role`(role: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let log = LogTape()
        let process = register(role, 0xABC, id: 1, log: log, in: database)
        process.start()
        try eventually("the process is there") { try living(database).count == 1 }
        let found = try #require(try living(database).first)
        #expect(found.role == role && found.version == "1.0.0" && found.configuration?.text == "000000000abc")
        #expect(found.seen >= found.started ?? .max)
        // Between two rows it holds no connection.
        try eventually("no connection is left") {
            try database.count(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = $1",
                [.text("entitled_\(role)")]) == 0
        }
        process.drain(until: .now + .seconds(5))
        #expect(try living(database) == [])
        #expect(!log.text.contains("process not registered"))
    }

    @Test func `a process that was killed is gone after a while, and its rows after an hour`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute(
            """
            INSERT INTO entitled.process (id, seen_at, role, host, version, started_ms, configuration) VALUES
                (gen_random_uuid(), now() - interval '149 s', 'api', 'there', '1', 1, 1),
                (gen_random_uuid(), now() - interval '151 s', 'api', 'gone', '1', 1, 2),
                (gen_random_uuid(), now() - interval '61 min', 'api', 'long gone', '1', 1, 3)
            """)
        #expect(try living(database).map(\.host) == ["there"])
        let worker = register("worker", 1, id: 2, in: database)
        worker.start()
        try eventually("old rows are gone") {
            try database.count("SELECT count(*) FROM entitled.process WHERE host = 'long gone'") == 0
        }
        worker.drain(until: .now + .seconds(5))
        #expect(try database.count("SELECT count(*) FROM entitled.process WHERE host IN ('there', 'gone')") == 2)
    }

    @Test(arguments: ["ingest", "api", "console"])
    func `no role says when it was there, and a row of another time hides nothing`(role: String) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_\(role)")
        let error = #expect(throws: PostgresError.self) {
            try connection.query(
                """
                INSERT INTO entitled.process (id, seen_at, role, host, version, started_ms, configuration, has_ended)
                VALUES (gen_random_uuid(), 'infinity', 'worker', 'forged', '1', 1, 1, true)
                """)
        }
        #expect(error?.sqlstate == "42501")
        let process = register(role, 1, id: 1, in: database)
        process.start()
        try eventually("the process is there") { try living(database).count == 1 }
        // As a former primary with another clock left them, or a program before this version.
        for instant in ["'infinity'", "clock_timestamp() + interval '1 day'"] {
            try database.execute(
                """
                INSERT INTO entitled.process (id, seen_at, role, host, version, started_ms, configuration, has_ended)
                SELECT id, \(instant), 'worker', 'forged', '1', 1, 2, true FROM entitled.process WHERE host <> 'forged' LIMIT 1
                """)
        }
        #expect(try living(database).map(\.role) == [role])
        try ProcessTable.deleteOld(on: try database.connect(role: "entitled_worker"))
        #expect(try database.count("SELECT count(*) FROM entitled.process WHERE host = 'forged'") == 0)
        process.drain(until: .now + .seconds(5))
    }

    @Test func `a worker that says nothing is there, and unknown`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute(
            """
            INSERT INTO entitled.worker (id, host, seen_at) VALUES (gen_random_uuid(), 'old', clock_timestamp()),
                (gen_random_uuid(), 'gone', clock_timestamp() - interval '30 s')
            """)
        #expect(try living(database).map(\.host) == ["old"])
        #expect(try living(database).map(\.configuration) == [nil])
    }

    @Test func `a schema without the table is left alone`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("DROP TABLE entitled.process")
        let log = LogTape()
        let process = register("api", 1, id: 1, log: log, in: database)
        process.start()
        process.drain(until: .now + .seconds(5))
        #expect(log.text.isEmpty, "\(log.text)")
    }

    private func process(_ id: UInt8, _ version: String?, _ digest: Int64?) -> RunningProcess {
        RunningProcess(
            id: [id], role: "api", host: "host\(id)", version: version, started: 1, seen: 2,
            configuration: digest.map(ConfigurationDigest.init))
    }

    @Test func `processes of one version differ, and those of another or of none do not`() {
        let same = ConfigurationComparison([process(1, "1", 7), process(2, "1", 7), process(3, nil, nil)])
        #expect(same.differing.isEmpty && same.unknown.count == 1 && same.groups.count == 1)
        let upgraded = ConfigurationComparison([process(1, "1", 7), process(2, "2", 8)])
        #expect(upgraded.differing.isEmpty && upgraded.groups.count == 2)
        let others = [
            process(1, "1", 7), process(2, "1", 8), process(3, "1", 8), process(4, "2", 9), process(5, nil, nil),
        ]
        let different = ConfigurationComparison(others)
        #expect(different.differing.map { $0.processes.map(\.id) } == [[[2], [3]], [[1]]])
        #expect(others.map(different.differs) == [true, true, true, false, nil])
    }
}
