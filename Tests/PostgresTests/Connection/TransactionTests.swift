import Base
import Postgres
import TestSupport
import Testing

private struct Refused: Error {}

@Suite struct `transactions` {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "CREATE TABLE t (a int8 PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)")
    }

    private func stored() throws -> [Int64] {
        try connection.query("SELECT a FROM t ORDER BY a").map { try $0.int(0) }
    }

    @Test func `what the body did is committed together`() throws {
        let answer = try connection.transaction {
            #expect(connection.isInTransaction)
            try connection.query("INSERT INTO t VALUES (1)")
            try connection.query("INSERT INTO t VALUES (2)")
            return "done"
        }
        #expect(answer == "done")
        #expect(!connection.isInTransaction)
        #expect(try stored() == [1, 2])
    }

    @Test func `an error of the body undoes it all and is passed on`() throws {
        #expect(throws: Refused.self) {
            try connection.transaction {
                try connection.query("INSERT INTO t VALUES (1)")
                throw Refused()
            }
        }
        #expect(!connection.isInTransaction)
        #expect(try stored() == [])
    }

    @Test func `a failed statement that the body hides is no commit`() throws {
        let error = try #require(throws: PostgresError.self) {
            try connection.transaction {
                try connection.query("INSERT INTO t VALUES (1)")
                _ = try? connection.query("SELECT 1/0")
            }
        }
        #expect(error.sqlstate == "25P02")
        #expect(!error.outcomeUnknown)
        #expect(!connection.isInTransaction)
        #expect(try stored() == [])
    }

    @Test func `a COMMIT that the server refuses is known to have failed`() throws {
        let error = try #require(throws: PostgresError.self) {
            try connection.transaction {
                try connection.query("INSERT INTO t VALUES (1)")
                try connection.query("INSERT INTO t VALUES (1)")
            }
        }
        #expect(error.sqlstate == "23505")
        #expect(!error.outcomeUnknown)
        #expect(try stored() == [])
    }

    @Test func `opening statements travel with BEGIN and hand over their rows`() throws {
        let sum = try connection.transaction(opening: [
            PostgresStatement("SET LOCAL statement_timeout = 777"), PostgresStatement("SELECT $1 + 1", [.int8(41)]),
        ]) { rows in
            #expect(try connection.query("SHOW statement_timeout").one().text(0) == "777ms")
            return try rows[1].one().int(0)
        }
        #expect(sum == 42)
        #expect(try connection.query("SHOW statement_timeout").one().text(0) == "0")
    }

    @Test func `an opening statement that fails leaves no transaction`() throws {
        let error = try #require(throws: PostgresError.self) {
            try connection.transaction(opening: [PostgresStatement("SELECT 1/0")]) { _ in
                Issue.record("the body must not run")
            }
        }
        #expect(error.sqlstate == "22012")
        #expect(!connection.isInTransaction)
        #expect(connection.isAlive)
    }

    @Test func `a body may commit with its last batch`() throws {
        try connection.transaction {
            _ = try connection.queryBatch([
                PostgresStatement("INSERT INTO t VALUES ($1)", [.int8(7)]), PostgresStatement("COMMIT"),
            ])
        }
        #expect(try stored() == [7])
    }

    @Test func `transactions do not nest`() throws {
        #expect(throws: PostgresError.self) {
            try connection.transaction { try connection.transaction {} }
        }
        #expect(!connection.isInTransaction)
    }

    @Test func `a session ends what a body leaves open`() throws {
        let session = PostgresSession(try TestCluster.shared.makeDatabase().target())
        try session.withConnection { _ = try $0.query("BEGIN") }
        #expect(try session.withConnection { !$0.isInTransaction })
    }
}

@Suite struct `batches` {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "CREATE TABLE t (a int8 PRIMARY KEY)")
    }

    private func insert(_ number: Int64) -> PostgresStatement {
        PostgresStatement("INSERT INTO t VALUES ($1)", [.int8(number)])
    }

    private func stored() throws -> [Int64] {
        try connection.query("SELECT a FROM t ORDER BY a").map { try $0.int(0) }
    }

    @Test func `answers come in the order of the statements`() throws {
        let answers = try connection.queryBatch((0..<100).map { PostgresStatement("SELECT $1", [.int8($0)]) })
        #expect(try answers.map { try $0.one().int(0) } == Array(0..<100))
        #expect(try connection.queryBatch([]).isEmpty)
        #expect(try connection.queryBatch([PostgresStatement("SELECT 1")]).count == 1)
    }

    @Test func `a batch outside a transaction is one`() throws {
        let error = try #require(throws: PostgresError.self) {
            try connection.queryBatch([insert(1), insert(1), insert(2)])
        }
        #expect(error.sqlstate == "23505")
        #expect(error.message.contains("statement 2 of a batch"))
        #expect(!error.outcomeUnknown)
        #expect(try stored() == [])
        #expect(try connection.queryBatch([insert(1), insert(2)]).count == 2)
        #expect(try stored() == [1, 2])
    }

    @Test func `a batch inside a transaction fails with it`() throws {
        #expect(throws: PostgresError.self) {
            try connection.transaction {
                try connection.query("INSERT INTO t VALUES (9)")
                _ = try connection.queryBatch([insert(1), insert(1)])
            }
        }
        #expect(try stored() == [])
    }

    @Test func `large batches in both directions do not lock up`() throws {
        let body = [UInt8](repeating: 7, count: 1 << 20)
        let answers = try connection.queryBatch((0..<24).map { _ in PostgresStatement("SELECT $1", [.bytea(body)]) })
        #expect(try answers.allSatisfy { try $0.one().bytes(0) == body })
    }

    @Test func `a connection lost in a batch says whether it may be committed`() throws {
        let database = try TestCluster.shared.makeDatabase()
        for (statements, isUnknown) in [
            (["SELECT 1", "SELECT pg_sleep(60)"], true), (["BEGIN", "SELECT pg_sleep(60)"], false),
            (["BEGIN", "SELECT pg_sleep(60)", "COMMIT"], true),
        ] {
            let busy = Running {
                _ = try database.connect().queryBatch(statements.map { PostgresStatement($0) })
            }
            try database.untilActive("SELECT pg_sleep")
            try database.terminateConnections()
            let error = try #require(try busy.error() as? PostgresError)
            #expect(error.kind == .connection)
            #expect(error.outcomeUnknown == isUnknown, "\(statements)")
        }
    }
}
