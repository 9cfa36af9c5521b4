import Base
import Postgres
import TestSupport
import Testing

/// A value, and what `$1` of it is in text when Postgres itself writes it.
struct Sample: Sendable, CustomTestStringConvertible {
    let type: String
    let value: PostgresValue
    let text: String?

    init(_ type: String, _ value: PostgresValue, _ text: String?) {
        self.type = type
        self.value = value
        self.text = text
    }

    var testDescription: String { "\(type) \(text ?? "NULL")" }

    static let uuid: [UInt8] = Array(0x10...0x1f)

    static let all: [Sample] = [
        Sample("bool", .bool(true), "true"), Sample("bool", .bool(false), "false"), Sample("bool", .bool(nil), nil),
        Sample("int2", .int2(.min), "-32768"), Sample("int2", .int2(.max), "32767"), Sample("int2", .int2(nil), nil),
        Sample("int4", .int4(.min), "-2147483648"), Sample("int4", .int4(.max), "2147483647"),
        Sample("int8", .int8(.min), "-9223372036854775808"), Sample("int8", .int8(.max), "9223372036854775807"),
        Sample("int8", .int8(0), "0"), Sample("int8", .int8(-1), "-1"), Sample("int8", .int8(nil), nil),
        Sample("float8", .float8(-0.5), "-0.5"), Sample("float8", .float8(.infinity), "Infinity"),
        Sample("text", .text(""), ""),
        Sample("text", .text("naïve 🐘 \u{10ffff} ' \\ \" $1"), "naïve 🐘 \u{10ffff} ' \\ \" $1"),
        Sample("text", .text(nil), nil),
        Sample("bytea", .bytea([]), "\\x"), Sample("bytea", .bytea([0, 255, 0]), "\\x00ff00"),
        Sample("uuid", .uuid(uuid), "10111213-1415-1617-1819-1a1b1c1d1e1f"), Sample("uuid", .uuid(nil), nil),
        Sample("jsonb", .jsonb(Array(#"{"b":[1,null],"a":"ü"}"#.utf8)), #"{"a": "ü", "b": [1, null]}"#),
        Sample("timestamptz", .timestamp(0), "1970-01-01 00:00:00+00"),
        Sample("timestamptz", .timestamp(1_700_000_000_123), "2023-11-14 22:13:20.123+00"),
        Sample("timestamptz", .timestamp(-1), "1969-12-31 23:59:59.999+00"),
        Sample("text", .null, nil),
        Sample("bool[]", .bools([true, nil, false]), "{t,NULL,f}"), Sample("int2[]", .int2s([-1, .max]), "{-1,32767}"),
        Sample("int4[]", .int4s([1, nil]), "{1,NULL}"), Sample("int8[]", .int8s([]), "{}"),
        Sample("int8[]", .int8s([.min, nil, .max]), "{-9223372036854775808,NULL,9223372036854775807}"),
        Sample("text[]", .texts(["a", nil, "", "NULL", "ü,\""]), #"{a,NULL,"","NULL","ü,\""}"#),
        Sample("text[]", .texts([]), "{}"), Sample("bytea[]", .byteas([[], nil, [1]]), #"{"\\x",NULL,"\\x01"}"#),
        Sample("uuid[]", .uuids([uuid, nil]), "{10111213-1415-1617-1819-1a1b1c1d1e1f,NULL}"),
        Sample("timestamptz[]", .timestamps([0, nil]), #"{"1970-01-01 00:00:00+00",NULL}"#),
    ]
}

@Suite struct `values` {
    @Test(arguments: Sample.all)
    func `a parameter arrives as Postgres would write it`(sample: Sample) throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let row = try connection.query("SELECT $1::\(sample.type)::text", [sample.value]).one()
        #expect(try row.optionalText(0) == sample.text)
    }

    @Test func `every kind comes back as it was sent`() throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let row = try connection.query(
            "SELECT $1 AS a, $2 AS b, $3 AS c, $4 AS d, $5 AS e, $6 AS f, $7 AS g, $8 AS h, $9 AS i, $10 AS j, $11 AS k",
            [
                .bool(true), .int2(.min), .int4(.min), .int8(.min), .float8(-0.25), .text("ü\u{1}🐘"),
                .bytea([0, 1, 255]),
                .uuid(Sample.uuid), .jsonb(Array("[1]".utf8)), .timestamp(-1), .int8(nil),
            ]
        ).one()
        #expect(try row.bool("a"))
        #expect(try row.int("b") == -32768)
        #expect(try row.int(2) == Int64(Int32.min))
        #expect(try row.int("d") == .min)
        #expect(try row.double(4) == -0.25)
        #expect(try row.text("f") == "ü\u{1}🐘")
        #expect(try row.bytes(5) == Array("ü\u{1}🐘".utf8))
        #expect(try row.bytes("g") == [0, 1, 255])
        #expect(try row.uuid("h") == Sample.uuid)
        #expect(try row.text("i") == "[1]")
        #expect(try row.bytes("i") == Array("[1]".utf8))
        #expect(try row.timestamp("j") == -1)
        #expect(try row.isNull("k"))
        #expect(try row.optionalInt("k") == nil)
    }

    @Test func `arrays come back as they were sent`() throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let row = try connection.query(
            "SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9",
            [
                .bools([true, nil]), .int2s([.max]), .int4s([nil]), .int8s([.min, .max]), .texts(["", nil, "🐘"]),
                .byteas([[], nil, [0]]), .uuids([Sample.uuid]), .timestamps([5, nil]), .texts([]),
            ]
        ).one()
        #expect(try row.bools(0) == [true, nil])
        #expect(try row.ints(1) == [Int64(Int16.max)])
        #expect(try row.ints(2) == [nil])
        #expect(try row.ints(3) == [.min, .max])
        #expect(try row.texts(4) == ["", nil, "🐘"])
        #expect(try row.byteStrings(5) == [[], nil, [0]])
        #expect(try row.byteStrings(6) == [Sample.uuid])
        #expect(try row.timestamps(7) == [5, nil])
        #expect(try row.texts(8) == [])
    }

    @Test func `a batch of arrays becomes rows in their order`() throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let numbers = Array(Int64(0)..<1_000)
        let bodies: [[UInt8]?] = numbers.map { [UInt8](repeating: UInt8($0 % 256), count: Int($0)) }
        let rows = try connection.query(
            "SELECT n, b FROM unnest($1, $2) AS t(n, b)", [.int8s(numbers), .byteas(bodies)])
        #expect(rows.count == 1_000)
        for (row, number) in zip(rows, numbers) {
            #expect(try row.int(0) == number)
            #expect(try row.optionalBytes(1) == bodies[Int(number)])
        }
    }

    @Test(arguments: [
        PostgresValue.text("a\u{0}b"), .texts(["", nil, "\u{0}"]), .uuid([1, 2]), .uuids([[]]), .timestamp(.max),
    ])
    func `what Postgres cannot take is refused before it is sent`(value: PostgresValue) throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let error = try #require(throws: PostgresError.self) {
            try connection.query("SELECT $1, $2", [.int8(1), value])
        }
        #expect(error.kind == .encoding)
        #expect(error.message.hasPrefix("parameter $2: "))
        #expect(!error.isRetryable)
        #expect(try connection.query("SELECT 1").one().int(0) == 1)
    }

    @Test func `a wrong type, a NULL and a missing column are errors`() throws {
        let connection = try PostgresConnection(PostgresTarget(url: TestCluster.shared.url))
        let rows = try connection.query(
            "SELECT 1::int8 AS n, 'x' AS t, NULL::int8 AS empty, ARRAY[[1],[2]] AS square, 1.5::numeric AS amount")
        let row = try rows.one()
        let readings: [() throws -> Void] = [
            { _ = try row.text("n") }, { _ = try row.int("t") }, { _ = try row.bool("n") }, { _ = try row.uuid("t") },
            { _ = try row.int("empty") }, { _ = try row.int(5) }, { _ = try row.int(-1) }, { _ = try row.int("N") },
            { _ = try row.ints("square") }, { _ = try row.ints("n") }, { _ = try row.texts("t") },
            { _ = try row.double("amount") }, { _ = try row.timestamp("n") }, { _ = try row.bytes("n") },
            { _ = try row.ints("empty") }, { _ = try connection.query("SELECT 1 WHERE false").one() },
        ]
        for (number, reading) in readings.enumerated() {
            let error = try #require(throws: PostgresError.self, "reading \(number)") { try reading() }
            #expect(error.kind == .decoding, "reading \(number)")
        }
    }
}
