import Postgres
import Testing

@Suite struct LoginURLTests {
    private func login(_ url: String) throws -> String {
        try PostgresTarget(url: url).loginURL(
            user: "entitled_api", password: "secret", database: "entitled", port: "5433")
    }

    @Test(arguments: [
        ("postgres://admin:other@db.example.com/postgres", "db.example.com:5433"),
        ("postgres://db.example.com:6000/postgres", "db.example.com:6000"),
        ("postgres://a:1,b:2/postgres", "a:1,b:2"), ("host=a,b port=7", "a:7,b:7"),
        ("postgres://[2001:db8::1]:6000/x", "[2001:db8::1]:6000"),
        ("host=/var/run/postgresql", "localhost:5433"), ("postgresql:///postgres?host=/run&port=99", "localhost:99"),
        ("dbname=postgres", "localhost:5433"), ("hostaddr=192.0.2.1", "192.0.2.1:5433"),
    ])
    func `the login is to the server of the target`(url: String, server: String) throws {
        #expect(try login(url) == "postgres://entitled_api:secret@\(server)/entitled")
    }

    @Test func `of several hosts the one of the kind that is meant is taken, unless the URL says otherwise`() throws {
        func kind(_ url: String, _ prefers: PostgresTarget.ServerKind) throws -> String? {
            try PostgresTarget(url: url, prefers: prefers).keywords().first { $0.name == "target_session_attrs" }?.value
        }
        #expect(try kind("postgres://a,b/x", .primary) == "read-write")
        #expect(try kind("postgres://a,b/x", .standby) == "standby")
        #expect(try kind("postgres://a/x", .standby) == "any")
        #expect(try kind("postgres://a,b/x?target_session_attrs=any", .standby) == "any")
    }

    @Test func `TLS and the kind of server are kept, and what is the administrator's is not`() throws {
        let url = "postgres://admin:other@a,b/x?sslmode=verify-full&sslrootcert=/a%20b.pem&target_session_attrs=primary"
        #expect(
            try login(url)
                == "postgres://entitled_api:secret@a:5433,b:5433/entitled?sslmode=verify-full&sslrootcert=%2Fa%20b.pem"
                + "&target_session_attrs=primary")
        #expect(try !login("postgres://a/x?options=-c%20role%3Dadmin&passfile=/root/.pgpass").contains("pgpass"))
    }

    @Test(arguments: [
        ("postgres://a:old@h1:1,h2/x?sslmode=require", "postgres://a:new1@h1:1,h2/x?sslmode=require"),
        ("postgresql://a%40b:o%2Fld@/x?host=/run", "postgresql://a%40b:new1@/x?host=/run"),
        ("host=a password=old user=b", "host=a password=new1 user=b"),
        (#"password = 'o\'l d'"#, "password = new1"), ("user=password password=x", "user=password password=new1"),
        ("postgres://a@h/x?password=old", nil), ("postgres://a:b@h/x?password=old", nil), ("host=a", nil),
    ])
    func `another password leaves the rest as it is`(url: String, changed: String?) throws {
        #expect(try PostgresTarget(url: url).replacing(password: "new1") == changed)
    }

    @Test func `what was written is read again`() throws {
        let target = PostgresTarget(url: try login("host=a"))
        #expect(target.password == "secret" && target.database == "entitled")
        #expect(PostgresTarget(url: "host=a").password == nil && PostgresTarget(url: "host=a").database == nil)
    }
}
