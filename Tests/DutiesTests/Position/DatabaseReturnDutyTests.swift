import Base
import Crypto
import Daemon
import FoundationEssentials
import Postgres
import TestSupport
import Testing

@testable import Database
@testable import Duties

/// What is a return of the database, and what follows from it.
@Suite struct DatabaseReturnDutyTests {
    /// A leader on a database of its own.
    private struct Bench {
        static let place = AppScope(app: "demo", environment: .production)

        let database: TestDatabase
        let log = LogTape()
        let metrics = Metrics()
        private let run: DutyRun

        init() throws {
            database = try TestCluster.shared.makeMigratedDatabase()
            let worker = SecureRandom.bytes(16)
            try database.execute(
                "UPDATE entitled.lane SET owner = $1, lease_until = now() + interval '1 hour' WHERE lane = 0",
                [.uuid(worker)])
            run = DutyRun(
                session: PostgresSession(database.target(role: "entitled_worker")),
                leadership: Leadership(worker: worker, lease: .seconds(10)))
        }

        func duty(_ watch: PositionWatch = PositionWatch(nil), places: Set<AppScope> = [place]) -> DatabaseReturnDuty {
            DatabaseReturnDuty(watch: watch, places: places, tells: true, logger: log.logger, metrics: metrics)
        }

        func turn(_ duty: inout DatabaseReturnDuty) throws { _ = try duty.run(run) }

        var table: PositionTable {
            get throws { try run.session.withConnection { try PositionTable.read(on: $0) } }
        }

        func notices() throws -> Int64 {
            try database.count("SELECT count(*) FROM entitled.event WHERE type = 'database.returned'")
        }

        /// What a scan leaves behind that came to its end then, in ms from when the return was noticed.
        func scan(until difference: Int64) throws {
            try database.execute(
                """
                INSERT INTO entitled.history_look (app, environment, covered_ms, whole_ms, tried_ms)
                SELECT 'demo', $1, returned_ms + $2, returned_ms + $2, returned_ms FROM entitled.database_position
                ON CONFLICT (app, environment) DO UPDATE SET covered_ms = excluded.covered_ms,
                    whole_ms = excluded.whole_ms, tried_ms = excluded.tried_ms
                """, [.int2(Bench.place.environment.code), .int8(difference)])
        }
    }

    @Test func `a new database with nothing to compare is none`() throws {
        let bench = try Bench()
        let watch = PositionWatch(nil)
        var duty = bench.duty(watch)
        for number in Int64(1)...3 {
            try bench.turn(&duty)
            #expect(try bench.table.number == number)
            #expect(watch.number(of: try bench.table.installation) == number)
        }
        #expect(try bench.table.pending == nil && bench.table.position != nil && bench.notices() == 0)
        // Another process that sees it for the first time.
        var other = bench.duty()
        try bench.turn(&other)
        #expect(try bench.table.pending == nil)
    }

    @Test func `a smaller number than before is told once, and stays noted until the scans are done`() throws {
        let bench = try Bench()
        let watch = PositionWatch(nil)
        var duty = bench.duty(watch)
        try bench.turn(&duty)
        try bench.scan(until: 0)
        try bench.database.execute("UPDATE entitled.history_look SET cursor = '{routine}', whole_ms = 1, tried_ms = 2")
        watch.saw(40, of: try bench.table.installation, at: nil)
        try bench.turn(&duty)
        #expect(try bench.table.number == 40 + DatabaseReturnDuty.margin)
        let pending = try #require(try bench.table.pending)
        #expect(pending.reason == .number && pending.lost == 39)
        #expect(try bench.notices() == 1)
        #expect(
            try bench.database.count(
                "SELECT count(*) FROM entitled.history_look WHERE cursor = '{}' AND tried_ms IS NULL AND whole_ms = 1")
                == 1)
        try bench.scan(until: -1)
        // Another leader goes on.
        var next = bench.duty()
        try bench.turn(&next)
        #expect(try bench.table.pending == pending)
        try bench.scan(until: 0)
        try bench.turn(&next)
        #expect(try bench.table.pending == nil)
        #expect(try bench.notices() == 1)
        #expect(bench.log.text.contains("database return resolved"))
    }

    @Test(arguments: ["entitled_ingest", "entitled_api", "entitled_worker"])
    func `what another process has seen counts, and a late report of more is the same return`(role: String) throws {
        let bench = try Bench()
        var duty = bench.duty()
        try bench.turn(&duty)
        let connection = try bench.database.connect(role: role)
        let table = try PositionTable.read(on: connection)
        for (seen, number) in [(Int64(100), 100 + DatabaseReturnDuty.margin), (103, 101 + DatabaseReturnDuty.margin)] {
            let watch = PositionWatch(nil)
            watch.saw(seen, of: table.installation, at: nil)
            try watch.look(at: table, nil, canReport: true, on: connection)
            // Another process has seen the same.
            try watch.look(at: table, nil, canReport: true, on: connection)
            try bench.turn(&duty)
            #expect(try bench.table.number == number)
            #expect(try bench.notices() == 1)
        }
        #expect(try bench.table.pending?.lost == 99)
        let console = try bench.database.connect(role: "entitled_console")
        #expect(try PositionTable.read(on: console).number > 0)
    }

    @Test func `a database that went back to an older schema disturbs nothing, and is watched once it is migrated`()
        throws
    {
        let bench = try Bench()
        var duty = bench.duty()
        try bench.turn(&duty)
        try bench.database.execute("ALTER TABLE entitled.database_position RENAME TO not_yet")
        try bench.turn(&duty)
        let connection = try bench.database.connect(role: "entitled_worker")
        #expect(try PositionTable.pendingReturn(on: connection) == nil)
        try bench.database.execute("ALTER TABLE entitled.not_yet RENAME TO database_position")
        try bench.turn(&duty)
        #expect(try bench.table.number == 2)
    }

    @Test(arguments: [
        ("timeline = timeline + 1", DatabaseReturn.Reason.timeline), ("cluster = '1'", .cluster),
        ("is_adopted = true", .adopted),
    ])
    func `a database that finds itself elsewhere was restored, promoted or adopted`(
        change: String, reason: DatabaseReturn.Reason
    ) throws {
        let bench = try Bench()
        var duty = bench.duty(places: [])
        try bench.turn(&duty)
        try bench.database.execute("UPDATE entitled.database_position SET \(change)")
        try bench.turn(&duty)
        #expect(try bench.table.pending?.reason == reason)
        #expect(try bench.notices() == 1)
        // Nothing can be scanned, and nothing waits.
        try bench.turn(&duty)
        #expect(try bench.table.pending == nil && bench.notices() == 1)
    }

    @Test func `a number that is made up is no return, and numbers at the end of their range are no harm`() throws {
        let bench = try Bench()
        var duty = bench.duty()
        let last = PositionTable.numbers.upperBound
        try bench.database.execute("INSERT INTO entitled.database_sighting VALUES ($1)", [.int8(last)])
        try bench.turn(&duty)
        #expect(try bench.table.number == 1 && bench.notices() == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.database_sighting") == 0)
        try bench.database.execute("UPDATE entitled.database_position SET number = $1", [.int8(last - 2)])
        for _ in 0..<3 { try bench.turn(&duty) }
        #expect(try bench.table.number == last)
    }

    @Test func `of the private Postgres numbers count, and that it was made from a backup`() throws {
        let bench = try Bench()
        try TemporaryFolder.with { folder in
            SightingFile.noteRestored(in: folder, logger: bench.log.logger)
            func duty() -> DatabaseReturnDuty {
                DatabaseReturnDuty(
                    watch: PositionWatch(SightingFile(folder: folder, logger: bench.log.logger)), places: [],
                    tells: true, isPrivate: true, logger: bench.log.logger, metrics: bench.metrics)
            }
            // A worker that is not the leader yet leaves it to that one.
            let follower = PositionWatch(SightingFile(folder: folder, logger: bench.log.logger))
            try follower.look(
                at: bench.table, nil, canReport: true, on: bench.database.connect(role: "entitled_worker"))
            var first = duty()
            try bench.turn(&first)
            #expect(try bench.table.pending?.reason == .restored && bench.table.position == nil)
            var next = duty()
            for _ in 0..<2 { try bench.turn(&next) }
            try bench.database.execute("UPDATE entitled.database_position SET cluster = '1', timeline = 7")
            try bench.turn(&next)
            #expect(try bench.table.pending == nil && bench.notices() == 1)
        }
    }

    // MARK: - The file

    @Test func `the next process on the host knows what was seen; a damaged file is as none`() throws {
        try TemporaryFolder.with { folder in
            let tape = LogTape()
            let path = SightingFile.path(in: "\(folder)/state")
            func watch() -> PositionWatch {
                PositionWatch(SightingFile(folder: "\(folder)/state", logger: tape.logger))
            }
            #expect(watch().number(of: "here") == 0)
            watch().saw(7, of: "here", at: DatabasePosition(cluster: "123", timeline: 2))
            #expect(watch().number(of: "here") == 7)
            #expect(watch().number(of: "elsewhere") == 0)
            let mode = try TestCommand.run(["/usr/bin/stat", "-c", "%a", path])
            #expect(mode.contains("600"))
            #expect(tape.text == "")
            let number = #"{"installation":"here","number":"#
            let damages = ["", "{", "[]", #"{"installation":7,"number":8}"#, "\u{0}\u{1}"]
            for damage in damages + ["\(number)-1}", "\(number)9223372036854775807}"] {
                try damage.write(toFile: path, atomically: true, encoding: .utf8)
                #expect(watch().number(of: "here") == 0, "\(damage)")
            }
            #expect(tape.text.contains("malformed database sighting file discarded"))
            watch().saw(3, of: "here", at: nil)
            #expect(watch().number(of: "here") == 3)
        }
    }
}
