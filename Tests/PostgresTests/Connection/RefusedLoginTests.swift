import Postgres
import TestSupport
import Testing

/// What counts as a refused login, asked of servers of its own.
@Suite struct RefusedLoginTests {
    private func url(_ hosts: String, _ user: String = "admin", database: String = "postgres") -> PostgresTarget {
        PostgresTarget(url: "postgres://\(user):wrong@\(hosts)/\(database)", connectTimeout: .seconds(2))
    }

    @Test func `a login is refused where every server that is reachable refuses it`() throws {
        let (first, second) = (try TestPasswordServer(), try TestPasswordServer())
        let (one, two, away) = ("127.0.0.1:\(first.port)", "127.0.0.1:\(second.port)", "127.0.0.1:1")
        for hosts in [one, "\(one),\(two)", "\(away),\(one)", "\(one),\(away)"] {
            #expect(try PostgresConnection.refusal(of: url(hosts)) == .password, "\(hosts)")
        }
        #expect(try PostgresConnection.refusal(of: url(away)) == nil)
        // One lets it in, or refuses it for another reason.
        _ = try second.connection().query("CREATE ROLE app LOGIN PASSWORD 'wrong'")
        #expect(try PostgresConnection.refusal(of: url("\(one),\(two)", "app")) == nil)
        #expect(try PostgresConnection.refusal(of: url("\(two),\(one)", "app")) == nil)
        #expect(try PostgresConnection.refusal(of: url(two, "app", database: "none")) == .noDatabase)
        #expect(try PostgresConnection.refusal(of: url("\(one),\(two)", "app", database: "none")) == nil)
        _ = try second.connection().query("ALTER ROLE app NOLOGIN")
        #expect(try PostgresConnection.refusal(of: url(two, "app")) == .notAllowed)
        _ = try second.connection().query("ALTER ROLE app LOGIN CONNECTION LIMIT 0")
        #expect(try PostgresConnection.refusal(of: url(two, "app")) == nil)
    }
}
