import Base
import Glibc
import Postgres
import TestSupport
import Testing

@Suite struct `connections` {
    @Test func `an error of the server carries its SQLSTATE and the constraint, and no row's content`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "CREATE TABLE t (a text CONSTRAINT only_once UNIQUE); CREATE TABLE u (b int)")
        try connection.query("INSERT INTO t VALUES ($1)", [.text("secret")])
        let error = try #require(throws: PostgresError.self) {
            try connection.query("INSERT INTO t VALUES ($1)", [.text("secret")])
        }
        #expect(error.kind == .query)
        #expect(error.sqlstate == "23505")
        #expect(error.constraint == "only_once")
        #expect(!error.isRetryable)
        #expect(!error.outcomeUnknown)
        #expect(!error.description.contains("secret"))
        #expect(try connection.query("SELECT a FROM t").one().text(0) == "secret")
    }

    @Test func `a script that fails leaves nothing`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        let error = try #require(throws: PostgresError.self) {
            try connection.execute(script: "CREATE TABLE t (a int); SELECT 1/0; CREATE TABLE u (a int)")
        }
        #expect(error.sqlstate == "22012")
        #expect(try connection.query("SELECT to_regclass('t') IS NULL").one().bool(0))
    }

    @Test func `a connection is not lost to COPY silently`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "CREATE TABLE t (a int)")
        #expect(throws: PostgresError.self) { try connection.execute(script: "COPY t FROM STDIN") }
        #expect(!connection.isAlive)
    }

    @Test func `the role is taken when the connection starts`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let role = "odd role \\ \(database.name)"
        let owner = try database.connect()
        #expect(try owner.currentUser() == "entitled")
        try owner.execute(script: "CREATE ROLE \"\(role)\"")
        let connection = try database.connect(role: role)
        #expect(try connection.currentUser() == role)
        let error = try #require(throws: PostgresError.self) {
            try connection.execute(script: "CREATE TABLE t (a int)")
        }
        #expect(error.sqlstate == "42501")
        try owner.execute(script: "DROP ROLE \"\(role)\"")
    }

    @Test func `options of the URL stay beside the role`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let url = database.url + "&options=-c%20statement_timeout%3D4321&application_name=mine"
        let connection = try PostgresConnection(PostgresTarget(url: url, role: "pg_monitor"))
        #expect(try connection.currentUser() == "pg_monitor")
        #expect(try connection.query("SHOW statement_timeout").one().text(0) == "4321ms")
        #expect(try connection.query("SHOW application_name").one().text(0) == "mine")
        #expect(try connection.query("SHOW client_encoding").one().text(0) == "UTF8")
    }

    @Test func `the first host may be dead`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let socket = database.url.split(separator: "=").last.map(String.init) ?? ""
        let url = "postgresql://entitled@/\(database.name)?host=%2Ftmp%2Fnobody-is-here,\(socket)"
        let connection = try PostgresConnection(PostgresTarget(url: url))
        #expect(try connection.query("SELECT current_database()::text").one().text(0) == database.name)
    }

    /// As where its network was cut: libpq would wait for it as long as for none.
    @Test func `a host that does not answer delays the next by a moment`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let socket = database.url.split(separator: "=").last.map(String.init) ?? ""
        let silent = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(silent) }
        let server = try SilentPostgres(in: silent)
        defer { withExtendedLifetime(server) {} }
        for hosts in ["\(silent),\(socket)", "\(silent),\(silent),\(socket)", "\(silent),/tmp/none,\(socket)"] {
            let url = "postgresql://entitled@/\(database.name)?host=\(hosts)&connect_timeout=60"
            let began = ContinuousClock.now
            let connection = try PostgresConnection(PostgresTarget(url: url))
            #expect(try connection.query("SELECT current_database()::text").one().text(0) == database.name)
            #expect(ContinuousClock.now - began < .seconds(10), "\(hosts)")
        }
        let error = #expect(throws: PostgresError.self) {
            try PostgresConnection(PostgresTarget(url: "host=\(silent),/tmp/none dbname=x connect_timeout=2"))
        }
        #expect(error?.isConnectionLost == true)
        #expect(error?.message.contains("timeout expired") == true && error?.message.contains("/tmp/none") == true)
    }

    @Test func `of several hosts a standby is not taken`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let socket = database.url.split(separator: "=").last.map(String.init) ?? ""
        let url =
            "postgresql://entitled@/\(database.name)?host=\(socket),\(socket)"
            + "&options=-c%20default_transaction_read_only%3Don"
        #expect(throws: PostgresError.self) { try PostgresConnection(PostgresTarget(url: url)) }
    }

    @Test(arguments: [
        "postgres//u:hunter2@h/d", "nonsense hunter2", "postgresql://u:hun/ter2@h/d", "postgresql://u:a@hunter2@h/d",
        "postgresql://u:hunter2@h:70000/d", "postgresql://u:hunter2@h/d?nonsense=1", "postgres://u\u{0}:hunter2@h/d",
    ])
    func `a connection string that cannot be used is not quoted`(url: String) throws {
        let target = PostgresTarget(url: url)
        let error = try #require(throws: PostgresError.self) { try PostgresConnection(target) }
        #expect(error.kind == .configuration)
        #expect(!error.description.contains("ter2"))
        #expect(!"\(target)".contains("ter2"))
        #expect(!String(reflecting: target).contains("ter2"))
    }

    @Test func `a server that is not there is away`() throws {
        let error = try #require(throws: PostgresError.self) {
            try PostgresConnection(PostgresTarget(url: "postgresql://u:hunter2@127.0.0.1:1/d"))
        }
        #expect(error.kind == .connection)
        #expect(error.isRetryable)
        #expect(!error.description.contains("hunter2"))
    }

    @Test func `a notice goes nowhere`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "DO $$ BEGIN RAISE WARNING 'must not be printed'; END $$")
    }

    @Test func `another thread cancels the statement`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let canceller = PostgresCanceller()
        #expect(!canceller.cancel())
        let busy = Running {
            let connection = try PostgresConnection(database.target(), canceller: canceller)
            try connection.query("SELECT pg_sleep(60)")
        }
        try database.untilActive("SELECT pg_sleep")
        #expect(canceller.cancel())
        let error = try #require(try busy.error() as? PostgresError)
        #expect(error.sqlstate == "57014")
        #expect(error.kind == .query)
        #expect(error.isRetryable)
        #expect(!canceller.cancel(), "the connection is gone")
    }

    @Test func `another thread takes the connection away from a server that hangs`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let session = PostgresSession(database.target())
        session.cut()
        let process = try session.withConnection { try $0.query("SELECT pg_backend_pid()").one().int(0) }
        kill(pid_t(process), SIGSTOP)
        defer { kill(pid_t(process), SIGCONT) }
        let entered = Counter()
        let busy = Running {
            try session.withConnection {
                entered.add()
                try $0.query("SELECT 1")
            }
        }
        try eventually("the thread has the connection") { entered.value == 1 }
        session.cut()
        let error = try #require(try busy.error() as? PostgresError)
        #expect(error.kind == .connection)
        #expect(error.outcomeUnknown)
        #expect(try session.withConnection { try $0.query("SELECT 1").one().int(0) } == 1)
    }
}

@Suite struct `lost connections` {
    /// As a coordinator tells that one of its nodes is away.
    @Test func `a server that lost its connection to another one is still there`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        let raise = "DO $$ BEGIN RAISE EXCEPTION 'connection to the node failed' USING ERRCODE = '08006'; END $$"
        let alone = try #require(throws: PostgresError.self) { try connection.query(raise) }
        #expect(alone.kind == .query && alone.fault == .away && !alone.isConnectionLost)
        // Whether a node committed what it was sent is not known.
        #expect(alone.outcomeUnknown)
        let within = try #require(throws: PostgresError.self) {
            try connection.transaction { try connection.query(raise) }
        }
        #expect(within.fault == .away && !within.outcomeUnknown)
        #expect(connection.isAlive && !connection.isInTransaction)
        #expect(try connection.query("SELECT 1").one().int(0) == 1)
    }

    @Test func `a backend that is terminated leaves the outcome of a bare statement open`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let busy = Running { try database.connect().query("SELECT pg_sleep(60)") }
        try database.untilActive("SELECT pg_sleep")
        try database.terminateConnections()
        let error = try #require(try busy.error() as? PostgresError)
        #expect(error.kind == .connection)
        #expect(error.sqlstate == "57P01")
        #expect(error.outcomeUnknown)
        #expect(error.isRetryable)
    }

    @Test func `a statement lost inside a transaction is known not to be committed`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        let error = try #require(throws: PostgresError.self) {
            try connection.transaction {
                try database.terminateConnections()
                try connection.query("SELECT 1")
            }
        }
        #expect(error.kind == .connection)
        #expect(!error.outcomeUnknown)
        #expect(!connection.isAlive)
    }

    @Test func `a connection lost at COMMIT leaves the outcome open`() throws {
        let database = try TestCluster.shared.makeDatabase()
        let connection = try database.connect()
        let error = try #require(throws: PostgresError.self) {
            try connection.transaction {
                try connection.query("SELECT 1")
                try database.terminateConnections()
            }
        }
        #expect(error.kind == .connection)
        #expect(error.outcomeUnknown)
    }

    @Test func `a server that stops is away, and a session finds it again`() throws {
        let cluster = try TestCluster()
        let database = try cluster.makeDatabase()
        let prepared = Counter()
        let session = PostgresSession(database.target(), backOff: .milliseconds(20)...Duration.milliseconds(50)) {
            prepared.add()
            try $0.query("SET statement_timeout = 12345")
        }
        let ask = { try session.withConnection { try $0.query("SHOW statement_timeout").one().text(0) } }
        #expect(try ask() == "12345ms")
        #expect(try ask() == "12345ms")
        #expect(prepared.value == 1)

        // Closed while idle: noticed before anything is sent, so that no caller sees it.
        try cluster.restart()
        #expect(try ask() == "12345ms")
        #expect(prepared.value == 2)

        try cluster.stop()
        #expect(!cluster.isRunning)
        for _ in 0..<20 {
            let error = try #require(throws: PostgresError.self) { try ask() }
            #expect(error.kind == .connection)
            #expect(error.isRetryable)
            #expect(!error.outcomeUnknown)
        }
        try cluster.start()
        try eventually("the session reconnects") { (try? ask()) == "12345ms" }
        #expect(session.retryDelay == .zero)
        try cluster.stop(.fast)
    }
}
