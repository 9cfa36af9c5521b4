import Base
import Foundation
import TestSupport
import Testing

@testable import Duties

/// Files as they lie on a disk, plain and packed.
@Suite struct ImportFileTests {
    private static let lines =
        ["app_user_id,original_transaction_id"] + (0..<20_000).map { "user-\($0),\"2\($0)\"" }
    private static let csv = Array((lines.joined(separator: "\r\n") + "\r\n").utf8)

    private func with<Result>(_ bytes: [UInt8], _ body: (String) throws -> Result) throws -> Result {
        try TemporaryFolder.with { folder in
            // The name says nothing of the content.
            let path = "\(folder)/transactions.csv"
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            return try body(path)
        }
    }

    private func failure(_ bytes: [UInt8]) throws -> String {
        try with(bytes) { path in
            do throws(ImportFile.Failure) {
                _ = try ImportFile(path).inspect { _ in }
                return "none"
            } catch {
                return error.description.replacing(path, with: "FILE")
            }
        }
    }

    @Test func `a packed file has the rows, the places and the digest of what is in it`() throws {
        let plain = try with(Self.csv) { path in (try ImportFile(path).inspect { _ in }) }
        let halves = try Gzip.pack(Array(Self.csv.prefix(1000))) + Gzip.pack(Array(Self.csv.dropFirst(1000)))
        for packed in [try Gzip.pack(Self.csv), halves] {
            try with(packed) { path in
                let file = try ImportFile(path)
                #expect(file.isPacked && file.layout.columns == ["app_user_id", "original_transaction_id"])
                #expect(file.share(1) == 0)
                var shares: [Double] = []
                #expect(try file.inspect { shares.append($0) } == plain)
                #expect(shares == shares.sorted() && shares.last ?? 0 > 0.5 && shares.last ?? 2 <= 1)
                #expect(file.share(Int64(Self.csv.count)) == 1)
                var whole = try file.reader(at: CSVReader.Position())
                var records: [CSVReader.Record] = []
                while let record = try whole.next() { records.append(record) }
                #expect(records.count == Self.lines.count)
                // From any place on, as an import that was interrupted.
                for number in [0, 1, 777, records.count - 2] {
                    let place = CSVReader.Position(offset: records[number].end, line: Int64(number + 2))
                    var rest = try file.reader(at: place)
                    #expect(try rest.next() == records[number + 1])
                }
                var behind = try file.reader(
                    at: CSVReader.Position(offset: Int64(Self.csv.count), line: Int64(Self.lines.count + 1)))
                #expect(try behind.next() == nil)
            }
        }
    }

    @Test func `a packed file that is damaged, cut off or more than that is one line, before any row`() throws {
        let packed = try Gzip.pack(Self.csv)
        #expect(
            try failure(Array(packed.prefix(packed.count / 2)))
                == "FILE: the file cannot be read: its gzip data are cut off: it was not copied whole")
        #expect(try failure(try Gzip.pack(packed)) == "FILE: the file is packed by gzip twice: unpack it once")
        var damaged = packed
        damaged[packed.count - 6] ^= 1
        let reason = try failure(damaged)
        #expect(reason.hasPrefix("FILE: the file cannot be read: its gzip data are damaged near byte "), "\(reason)")
        #expect(reason.hasSuffix(": incorrect data check") && !reason.contains("\n"), "\(reason)")
        #expect(
            try failure(packed + Array("user-x,1\r\n".utf8))
                == "FILE: the file cannot be read: its gzip data end at byte \(packed.count), and something else follows"
        )
        #expect(try failure([0x1f, 0x8b]).contains("cut off"))
        #expect(
            try failure(try Gzip.pack([0x50, 0x4b, 3, 4]))
                == "FILE: the file is a workbook or a ZIP archive: export it as CSV in UTF-8")
        #expect(try failure(try Gzip.pack([])).contains("empty"))
        #expect(try failure(try Gzip.pack(Array("app_user_id,jws\nu,\"e\n".utf8))).contains("never closed"))
    }
}
