import Duties
import Testing

struct CSVReaderTests {
    /// - Parameter part: bytes that are read at once.
    private func read(
        _ bytes: [UInt8], delimiter: Character = ",", part: Int = .max
    ) throws -> [CSVReader.Record] {
        var rest = bytes[...]
        var reader = CSVReader(delimiter: delimiter.asciiValue ?? 0) { count in
            defer { rest = rest.dropFirst(min(count, part)) }
            return Array(rest.prefix(min(count, part)))
        }
        var records: [CSVReader.Record] = []
        while let record = try reader.next() { records.append(record) }
        return records
    }

    private static let files: [(String, [[String]])] = [
        ("a,b\r\n1,2\r\n", [["a", "b"], ["1", "2"]]), ("a,b\n1,2", [["a", "b"], ["1", "2"]]),
        ("a\r1\r", [["a"], ["1"]]), ("\u{feff}a,b\n", [["a", "b"]]), ("", []), ("\r\n\n", []),
        ("\"a,\"\"b\"\"\",\"c\r\nd\"\n", [["a,\"b\"", "c\r\nd"]]), ("a,,\n", [["a", "", ""]]), (",\n", [["", ""]]),
        ("\"\",\"\"\n\"x\"", [["", ""], ["x"]]), ("a\n\n\nb\n", [["a"], ["b"]]), ("ä,🙂\n", [["ä", "🙂"]]),

    ]

    @Test(arguments: files) func `records are as RFC 4180 has them, however they are read`(
        text: String, wanted: [[String]]
    ) throws {
        for part in [1, 2, 3, .max] {
            #expect(try read(Array(text.utf8), part: part).map(\.fields) == wanted, "\(part) bytes at once")
        }
    }

    @Test func `a record says where it is, and reading goes on behind it`() throws {
        let text = Array("\u{feff}a,b\r\n\"1\n2\",x\r\n\r\n3,4\n".utf8)
        let records = try read(text)
        #expect(records.map(\.line) == [1, 2, 5])
        for (place, record) in records.enumerated() {
            var rest = text.dropFirst(Int(record.end))
            var reader = CSVReader(delimiter: 0x2c, at: .init(offset: record.end, line: 1)) { count in
                defer { rest = rest.dropFirst(count) }
                return Array(rest.prefix(count))
            }
            var left: [[String]] = []
            while let record = try reader.next() { left.append(record.fields) }
            #expect(left == records.dropFirst(place + 1).map(\.fields))
        }
    }

    private static let flaws: [([UInt8], String)] = [
        (Array("a\"b,c\n1,2\n".utf8), "quotation mark inside"), (Array("\"a\"b,c\n1,2\n".utf8), "behind the closing"),
        ([0x61, 0xff, 0x0a] + Array("1,2\n".utf8), "not UTF-8"), ([0x61, 0, 0x0a] + Array("1,2\n".utf8), "NUL"),
        (Array((String(repeating: "x,", count: 2001) + "\n1,2\n").utf8), "more than 2000 fields"),
    ]

    @Test(arguments: flaws) func `a wrong record does not hurt the next one`(bytes: [UInt8], part: String) throws {
        let records = try read(bytes)
        #expect(records.count == 2)
        #expect(records.first?.flaw?.contains(part) == true, "\(records.first?.flaw ?? "")")
        #expect(records.last?.fields == ["1", "2"])
    }

    @Test func `a quotation mark that is never closed is said with its line`() throws {
        #expect(throws: CSVReader.Failure.unclosedQuote(line: 2)) { try read(Array("a\n\"b\nc\n".utf8)) }
        // A file of any length must not be taken into memory for it.
        let long = Array("a\n\"b".utf8) + [UInt8](repeating: 0x61, count: 17 << 20)
        #expect(throws: CSVReader.Failure.tooLong(line: 2)) { try read(long) }
    }
}
