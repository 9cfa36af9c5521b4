import Base
import Daemon
import FoundationEssentials
import Postgres
import TestSupport
import Testing

@testable import Database
@testable import Duties

/// Which databases a process accepts.
@Suite struct PositionWatchTests {
    struct Case: Sendable {
        let name: String
        /// Of the server, as what was seen of it differs.
        var seen: @Sendable (DatabasePosition) -> DatabasePosition? = { $0 }
        var seenAdoption: Int64 = 0
        var adoption: Int64 = 0
        /// A part of the refusal; nil: it is accepted.
        var refusal: String?
    }

    private static func timeline(_ difference: Int64) -> @Sendable (DatabasePosition) -> DatabasePosition? {
        { DatabasePosition(cluster: $0.cluster, timeline: $0.timeline + difference) }
    }

    private static let other: @Sendable (DatabasePosition) -> DatabasePosition? = {
        DatabasePosition(cluster: "1", timeline: $0.timeline)
    }

    private static let cases = [
        Case(name: "the same"),
        Case(name: "nothing was seen", seen: { _ in nil }),
        Case(name: "a newer timeline", seen: timeline(-1)),
        Case(name: "an older timeline", seen: timeline(1), refusal: "this host has seen timeline"),
        Case(name: "another cluster", seen: other, refusal: "this host has seen 1;"),
        Case(name: "another cluster, adopted", seen: other, adoption: 1),
        Case(name: "an older timeline, adopted", seen: timeline(1), adoption: 4),
        Case(name: "the rival of an adopted one", seenAdoption: 1, refusal: "before an adoption"),
        Case(
            name: "an adopted one, restored to before", seen: timeline(-1), seenAdoption: 1,
            refusal: "before an adoption"),
        Case(name: "another cluster of an adopted one", seen: other, seenAdoption: 3, adoption: 3, refusal: "seen 1;"),
    ]

    @Test(arguments: cases) func `a database is accepted, or refused in one line`(_ one: Case) throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("UPDATE entitled.database_position SET adoption = $1", [.int8(one.adoption)])
        for role in ["entitled_ingest", "entitled_worker", "entitled_api", "entitled_console"] {
            let connection = try database.connect(role: role)
            let here = try #require(try DatabasePosition.read(on: connection))
            let table = try PositionTable.read(on: connection)
            let watch = PositionWatch(nil)
            watch.saw(5, of: table.installation, at: one.seen(here), adoption: one.seenAdoption)
            do {
                try watch.admit(connection)
                #expect(one.refusal == nil, "\(one.name), \(role)")
                // It is remembered, and stays accepted.
                try watch.admit(connection)
            } catch let refusal as PostgresRefusal {
                let text = "\(refusal)"
                #expect(one.refusal.map(text.contains) == true, "\(one.name), \(role): \(text)")
                #expect(text.contains(":5432 is refused: ") && text.contains(here.cluster))
                #expect(text.hasSuffix("run `entitled migrate --adopt-database`") && !text.contains("\n"))
            }
        }
    }

    @Test func `another database is refused whatever its schema is, and the right one is left to other checks`() throws
    {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        let here = try #require(try DatabasePosition.read(on: connection))
        let watch = PositionWatch(nil)
        watch.saw(5, of: "here", at: here)
        try watch.admit(connection)
        #expect(watch.refusal == nil)
        let other = PositionWatch(nil)
        other.saw(5, of: "here", at: DatabasePosition(cluster: here.cluster, timeline: here.timeline + 1))
        #expect(throws: PostgresRefusal.self) { try other.admit(connection) }
        #expect(other.refusal?.contains("is refused") == true)
    }

    @Test func `a refusal is logged also after an outage, once`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let tape = LogTape()
        let turn = Monitor(0)
        let session = PostgresSession(
            database.target(), logger: tape.logger, backOff: .milliseconds(1)...Duration.milliseconds(1)
        ) { connection in
            let number = turn.change { number in
                number += 1
                return number
            }
            if number == 1 { throw PostgresError(.connection, "away") }
            if number < 5 { throw PostgresRefusal(connection, because: "a test") }
        }
        try eventually("it connects") { (try? session.withConnection { _ in true }) ?? false }
        #expect(tape.text.split(separator: "\n").count { $0.contains(#""message":"database refused""#) } == 1)
        #expect(tape.text.contains(":5432 is refused: a test"))
        #expect(tape.text.contains("database connection restored"))
    }

    @Test func `a connection to a former primary is closed once a newer timeline is seen, also by another process`()
        throws
    {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let here = try #require(try DatabasePosition.read(on: try database.connect()))
        try TemporaryFolder.with { folder in
            func watch() -> PositionWatch { PositionWatch(SightingFile(folder: folder, logger: .silent)) }
            watch().saw(5, of: "here", at: here)
            let (one, other) = (watch(), watch())
            let session = PostgresSession(database.target(), epoch: one.epoch, prepare: { try one.admit($0) })
            let serial = try session.withConnection { $0.serial }
            one.readFile()
            #expect(try session.withConnection { $0.serial } == serial)
            other.saw(6, of: "here", at: DatabasePosition(cluster: here.cluster, timeline: here.timeline + 1))
            one.readFile()
            #expect { try session.withConnection { _ in } } throws: { error in
                (error as? PostgresError)?.kind == .connection && "\(error)".contains("is refused")
            }
            // A commands' watch leaves the file alone.
            let command = PositionWatch(SightingFile(folder: folder, logger: .silent), isReadOnly: true)
            command.saw(99, of: "here", at: nil)
            #expect(watch().number(of: "here") == 6)
        }
    }

    @Test func `of several hosts those that are refused are left out`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let host = try TestCluster.shared.host
        func target(_ hosts: String) -> PostgresTarget {
            PostgresTarget(url: "postgresql://entitled@/\(database.name)?host=\(hosts)")
        }
        var tried = 0
        let connection = try PostgresConnection.open(target("\(host),/tmp/../\(host)")) { connection in
            tried += 1
            if connection.host == host { throw PostgresRefusal(connection, because: "a test") }
        }
        #expect(tried == 2 && connection.host.hasPrefix("/tmp/.."))
        for hosts in [host, "\(host),\(host)", "\(host),/nowhere"] {
            #expect {
                _ = try PostgresConnection.open(target(hosts)) { throw PostgresRefusal($0, because: "a test") }
            } throws: {
                ($0 as? PostgresError)?.kind == .connection && "\($0)".contains("\(host):5432 is refused: a test")
            }
        }
    }
}
