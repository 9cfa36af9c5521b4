import Base
import Postgres
import Synchronization
import TestSupport
import Testing

@Suite struct `named columns` {
    private enum Letter: Int16, ColumnDecodable { case alpha = 1, beta }
    private enum Word: String, ColumnDecodable { case alpha, beta }

    private func connect() throws -> PostgresConnection {
        try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
    }

    private func message(_ read: () throws -> Void) throws -> String {
        let error = try #require(throws: PostgresError.self) { try read() }
        #expect(error.kind == .decoding)
        return error.description
    }

    @Test func `an error names the column, what is wrong with it, and the statement`() throws {
        let sql = "SELECT 1 AS seq,\n    NULL::int8 AS empty, 'x' AS word, 2 AS twice, 3 AS twice"
        let row = try connect().query(sql).one()
        let statement = "the statement is SELECT 1 AS seq, NULL::int8 AS empty, 'x' AS word"
        for (text, part) in [
            (
                try message { _ = try row.int("sequence") },
                "the answer has no column sequence, only seq, empty, word, twice, twice; "
            ),
            (try message { _ = try row.int(ColumnName("sequence")) }, "the answer has no column sequence, only seq"),
            (try message { _ = try row.int("empty") }, "column empty is NULL; "),
            (try message { _ = try row.int("word") }, "column word is not an integer (type 25, 1 bytes); "),
            (try message { _ = try row.text("seq") }, "column seq is not a text (type 23, 4 bytes); "),
            (try message { _ = try row.int("twice") }, "the answer has two columns twice; "),
        ] {
            #expect(text.contains(part))
            #expect(text.contains(statement))
        }
    }

    @Test func `an error of a batch names the statement that was answered`() throws {
        let answers = try connect().queryBatch([
            PostgresStatement("SELECT 1 AS first"), PostgresStatement("SELECT 2 AS second"),
        ])
        #expect(try message { _ = try answers[0].one().int("second") }.contains("the statement is SELECT 1 AS first"))
        #expect(try message { _ = try answers[1].one().int("first") }.contains("the statement is SELECT 2 AS second"))
    }

    @Test func `a long statement is cut short in an error`() throws {
        let row = try connect().query("SELECT '\(String(repeating: "x", count: 400))' AS word").one()
        let text = try message { _ = try row.int("word") }
        #expect(text.hasSuffix("x…"))
        #expect(text.count < 450)
    }

    @Test func `a code becomes its case, and an unknown one an error`() throws {
        let row = try connect().query(
            "SELECT 2::int2 AS letter, 'alpha' AS word, 7::int2 AS new, 70000 AS large, 'gamma' AS strange, NULL::int2 AS none"
        ).one()
        #expect(try row.value("letter") == Letter.beta)
        #expect(try row.value("word", as: Word.self) == .alpha)
        #expect(try row.optionalValue("letter", as: Letter.self) == .beta)
        #expect(try row.optionalValue("none", as: Letter.self) == nil)
        let unknown = try message { _ = try row.value("new", as: Letter.self) }
        #expect(
            unknown.contains(
                "column new has the code 7, which is no known Letter; a newer version may have written it; "))
        #expect(unknown.contains("the statement is SELECT 2::int2 AS letter"))
        #expect(
            try message { _ = try row.optionalValue("large", as: Letter.self) }.contains(
                "column large has the code 70000, which is no known Letter"))
        #expect(
            try message { _ = try row.value("strange", as: Word.self) }.contains(
                "column strange has the code gamma, which is no known Word"))
        #expect(try message { _ = try row.value("none", as: Letter.self) }.contains("column none is NULL"))
        #expect(try message { _ = try row.value("word", as: Letter.self) }.contains("column word is not an integer"))
    }

    @Test func `a column is found in every answer by its name, wherever it stands and however many there are`() throws {
        let connection = try connect()
        for list in ["1 AS one, 2 AS two", "2 AS two, 1 AS one", "0 AS zero, 2 AS two, 3 AS three, 1 AS one"] {
            let rows = try connection.query("SELECT \(list) FROM generate_series(1, 3)")
            #expect(rows.count == 3)
            for row in rows {
                #expect(try row.int("one") == 1)
                #expect(try row.int("two") == 2)
            }
        }
        let many = try connection.query("SELECT " + (0..<1000).map { "\($0) AS c\($0)" }.joined(separator: ", ")).one()
        #expect(try many.int("c0") == 0)
        #expect(try many.int("c999") == 999)
        for number in 0..<1000 { #expect(try many.int(ColumnName("c\(number)")) == Int64(number)) }
    }

    @Test func `a name is found as it was written, large letters and all`() throws {
        let row = try connect().query("SELECT 1 AS \"Seq\", 2 AS seq, 3 AS \"two words\", 4 AS x").one()
        #expect(try row.int("Seq") == 1)
        #expect(try row.int("seq") == 2)
        #expect(try row.int("two words") == 3)
        #expect(try row.int("x") == 4)
    }

    @Test func `threads read one answer beside each other`() throws {
        let rows = try connect().query(
            "SELECT n AS a, n + 1 AS b, n + 2 AS c, n + 3 AS d, n + 4 AS e FROM generate_series(0, 4999) n")
        let wrong = Atomic<Int>(0)
        let readers = (0..<4).map { _ in
            Running {
                for (number, row) in rows.enumerated() {
                    let read = [
                        try row.int("e"), try row.int("a"), try row.int("c"), try row.int("d"), try row.int("b"),
                    ]
                    if read != [4, 0, 2, 3, 1].map({ $0 + Int64(number) }) { wrong.add(1, ordering: .relaxed) }
                }
            }
        }
        for reader in readers { #expect(try reader.error() == nil) }
        #expect(wrong.load(ordering: .relaxed) == 0)
    }
}
