import Base
import Daemon
import Postgres
import TestSupport
import Testing

/// The zones of this host, beside what Postgres makes of the same database.
struct TimeZoneTests {
    @Test func `every zone's offsets and names are those of Postgres`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        let known = Set(try connection.query("SELECT name FROM pg_timezone_names").map { try $0.text("name") })
        let names = TimeZoneDatabase.names.filter { known.contains($0.text) }
        #expect(names.count > 300)
        var generator = SystemRandomNumberGenerator()
        for name in names {
            let zone = try #require(TimeZoneDatabase.zone(name), "\(name.text)")
            let seconds = (0..<200).map { _ in Int64.random(in: 0...4_200_000_000, using: &generator) }
            _ = try connection.query("SELECT set_config('TimeZone', $1, false)", [.text(name.text)])
            let rows = try connection.query(
                """
                SELECT extract(timezone FROM to_timestamp(t))::int8 AS seconds, to_char(to_timestamp(t), 'TZ') AS name
                FROM unnest($1::int8[]) WITH ORDINALITY AS u(t, n) ORDER BY n
                """, [.int8s(seconds)])
            for (second, row) in zip(seconds, rows) {
                let offset = try row.int("seconds")
                #expect(
                    zone.clock(second * 1000) == LocalZone { _ in (offset, "") }.clock(second * 1000),
                    "\(name.text) at \(second)")
                #expect(try row.text("name").uppercased() == zone.name(at: second * 1000).uppercased())
            }
        }
    }

    @Test(arguments: ["Nowhere/Land", "zone.tab", "right/Europe/Vienna", "posixrules2", "Europe"])
    func `what is no zone of this host is not known`(text: String) {
        #expect(TimeZoneDatabase.zone(named: text) == nil)
    }
}
