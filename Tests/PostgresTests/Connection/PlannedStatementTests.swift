import Postgres
import TestSupport
import Testing

@Suite struct `statements that are planned once` {
    private static let known = "SELECT count(*) FROM pg_prepared_statements"

    @Test func `the server plans them once for the session, and answers each time by their parameters`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        for number in 1...3 {
            let row = try connection.read("SELECT $1 + 1", [.int8(Int64(number))]).one()
            #expect(try row.int(0) == Int64(number) + 1)
        }
        #expect(try connection.read("SELECT $1 || '!'", [.text("a")]).one().text(0) == "a!")
        #expect(try connection.query(Self.known).one().int(0) == 2)
    }

    /// What a pooler does that hands each transaction to another session.
    @Test func `where the session does not know them any more they are run all the same`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        #expect(try connection.read("SELECT $1 + 1", [.int8(1)]).one().int(0) == 2)
        try connection.query("DEALLOCATE ALL")
        #expect(try connection.read("SELECT $1 + 1", [.int8(2)]).one().int(0) == 3)
        #expect(try connection.read("SELECT $1 + 1", [.int8(3)]).one().int(0) == 4)
        #expect(try connection.query(Self.known).one().int(0) == 0)
    }

    @Test func `where another client of a pooler has planned one in this session it is used`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        #expect(try connection.read("SELECT $1 + 1", [.int8(1)]).one().int(0) == 2)
        let name = try connection.query("SELECT name FROM pg_prepared_statements").one().text(0)
        let other = try TestCluster.shared.makeDatabase().connect()
        try other.query("PREPARE \(name) (int8) AS SELECT $1 + 1")
        #expect(try other.read("SELECT $1 + 1", [.int8(4)]).one().int(0) == 5)
        #expect(try other.query(Self.known).one().int(0) == 1)
    }

    @Test func `a table that changes under them is read as it is now`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        try connection.execute(script: "CREATE TABLE t (a int8); INSERT INTO t VALUES (7)")
        #expect(try connection.read("SELECT a FROM t WHERE a > $1", [.int8(1)]).one().int(0) == 7)
        try connection.execute(script: "ALTER TABLE t ALTER a TYPE text")
        #expect(try connection.read("SELECT a FROM t WHERE a::int8 > $1", [.int8(1)]).one().text(0) == "7")
        #expect(throws: PostgresError.self) { try connection.read("SELECT a FROM t WHERE a > $1", [.int8(1)]) }
        try connection.execute(script: "ALTER TABLE t ALTER a TYPE int4 USING a::int4")
        #expect(try connection.read("SELECT a FROM t WHERE a > $1", [.int8(1)]).one().int(0) == 7)
    }

    @Test func `within a transaction they are run unplanned, and an error is the caller's`() throws {
        let connection = try TestCluster.shared.makeDatabase().connect()
        let answer = try connection.transaction { try connection.read("SELECT $1 + 1", [.int8(1)]).one().int(0) }
        #expect(answer == 2)
        #expect(try connection.query(Self.known).one().int(0) == 0)
        let error = try #require(throws: PostgresError.self) {
            try connection.read("SELECT 1 / ($1 - $1)", [.int8(1)])
        }
        #expect(error.sqlstate == "22012")
        #expect(try connection.read("SELECT $1 + 1", [.int8(1)]).one().int(0) == 2)
    }
}
