import Base
import Testing

@testable import Duties

/// gzip as programs of other authors write it, and what damages it.
@Suite struct GzipReaderTests {
    /// - Parameters:
    ///   - part: bytes of the file that are read at once.
    ///   - count: bytes that are asked for at once.
    private func read(_ packed: [UInt8], part: Int = .max, count: Int = 1 << 18) throws -> [UInt8] {
        var rest = packed[...]
        let reader = try GzipReader { most in
            defer { rest = rest.dropFirst(min(most, part)) }
            return Array(rest.prefix(min(most, part)))
        }
        var bytes: [UInt8] = []
        while true {
            let more = try reader.read(atMost: count)
            #expect(more.count <= count)
            if more.isEmpty { return bytes }
            bytes += more
        }
    }

    private func flaw(_ packed: [UInt8]) -> String {
        do {
            let bytes = try read(packed)
            return "read \(bytes.count) bytes"
        } catch {
            return (error as? GzipReader.Flaw)?.description ?? "\(error)"
        }
    }

    private static let text = Array("app_user_id,original_transaction_id\r\nuser-1,2000000000000001\r\n".utf8)

    private static let noise: [UInt8] = {
        var random = SystemRandomNumberGenerator()
        return (0..<300_000).map { _ in UInt8.random(in: 0...15, using: &random) }
    }()

    @Test func `what gzip packed is read as it was, in parts of any size`() throws {
        for options in [["-1"], ["-9"], ["-n"]] {
            let packed = try Gzip.pack(Self.noise, options[0])
            #expect(try read(packed) == Self.noise)
            #expect(try read(packed, part: 4096, count: 1000) == Self.noise)
        }
        let small = try Gzip.pack(Self.text)
        for part in 1...5 { #expect(try read(small, part: part, count: 1) == Self.text) }
        #expect(try read(try Gzip.pack([])) == [])
    }

    @Test func `several members are one text, also where one is empty`() throws {
        let members = [Self.text, [], Self.noise, Array("end\n".utf8)]
        let packed = try members.flatMap { try Gzip.pack($0) }
        for part in [1, 7, 4096, .max] { #expect(try read(packed, part: part) == Array(members.joined())) }
    }

    @Test func `a file that was cut off anywhere says so`() throws {
        let packed = try Gzip.pack(Self.text)
        for length in 0..<packed.count { #expect(flaw(Array(packed.prefix(length))).contains("cut off"), "\(length)") }
        // Of the second member, too; the first byte of it is one.
        let two = packed + packed
        for length in packed.count + 1..<two.count {
            #expect(flaw(Array(two.prefix(length))).contains("cut off"), "\(length)")
        }
    }

    @Test func `what follows that is no gzip says where`() throws {
        let packed = try Gzip.pack(Self.text)
        for garbage in [[0], [0x0a], Array("user-2,1\n".utf8), [UInt8](repeating: 0, count: 512)] as [[UInt8]] {
            #expect(flaw(packed + garbage) == "its gzip data end at byte \(packed.count), and something else follows")
        }
        #expect(flaw(packed + [0x1f, 0x8b, 9, 9]).contains("damaged near byte"))
    }

    /// The checksum and the length behind the data count, too.
    @Test func `no byte can change unnoticed`() throws {
        let packed = try Gzip.pack(Self.text, "-n")
        for place in packed.indices {
            var bytes = packed
            bytes[place] ^= 0x40
            // Time, flags for the compressor, and system are of no importance (RFC 1952, 2.3.1), nor are the bits between the last
            // code and the checksum.
            if (4..<10).contains(place) || place == packed.count - 9 {
                #expect(try read(bytes) == Self.text)
            } else if place > 1, place != 3 {
                #expect(flaw(bytes).contains("damaged near byte") || flaw(bytes).contains("cut off"), "\(place)")
            } else {
                #expect(!flaw(bytes).hasPrefix("read"), "\(place): \(flaw(bytes))")
            }
        }
    }

    @Test func `a bomb is read part by part, and a row in it has an end`() throws {
        let bomb = try Gzip.pack([UInt8](repeating: 0x61, count: 256 << 20), "-1")
        #expect(bomb.count < 2 << 20)
        var (given, rest) = (0, bomb[...])
        let unpacked = try GzipReader { most in
            defer { rest = rest.dropFirst(most) }
            return Array(rest.prefix(most))
        }
        var reader = CSVReader(delimiter: 0x2c) { count in
            let bytes = try unpacked.read(atMost: count)
            given += bytes.count
            return bytes
        }
        #expect(throws: CSVReader.Failure.tooLong(line: 1)) { try reader.next() }
        #expect(given <= CSVReader.longest + 1 << 20)
    }

    @Test func `a row of nothing but delimiters has an end`() throws {
        let delimiters = [UInt8](repeating: 0x2c, count: 1 << 18)
        var given = 0
        var reader = CSVReader(delimiter: 0x2c) { _ in
            given += delimiters.count
            return given < 64 << 20 ? delimiters : []
        }
        #expect(throws: CSVReader.Failure.tooLong(line: 1)) { try reader.next() }
    }
}
