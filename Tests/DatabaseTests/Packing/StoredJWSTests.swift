import Base
import Crypto
import Database
import Testing

@Suite struct StoredJWSTests {
    private let signature = SecureRandom.bytes(64)

    private static let payloads: [[UInt8]] = [
        [], Array("{}".utf8), Array(repeating: 0, count: 100_000),
        (0..<50_000).map { UInt8(truncatingIfNeeded: $0 * $0) },
        Sample.header + Sample.header, Array(#"{ "spaces" :  1e0, "spaces": "é\u00e9" }"#.utf8),
    ]

    private func store(_ payload: [UInt8], _ dictionaries: HeaderDictionaries) throws -> StoredJWS {
        let id = StoredJWS.headerID(Sample.header)
        return StoredJWS(
            headerID: id, payload: try dictionaries.compress(payload, header: Sample.header, id: id),
            signature: signature)
    }

    @Test(arguments: payloads)
    func `a JWS comes back byte for byte`(payload: [UInt8]) throws {
        let jws = [
            String(decoding: Sample.header, as: UTF8.self), Base64.encodeURL(payload), Base64.encodeURL(signature),
        ].joined(separator: ".")
        let stored = try store(payload, HeaderDictionaries())
        // Another process, that has seen no header yet.
        let restored = try HeaderDictionaries().restore(stored, header: Sample.header)
        let again = [
            String(decoding: Sample.header, as: UTF8.self), Base64.encodeURL(restored),
            Base64.encodeURL(stored.signature),
        ].joined(separator: ".")
        #expect(again == jws)
    }

    @Test func `what repeats the header costs next to nothing`() throws {
        let payload = Array("x".utf8) + Sample.header + Array("y".utf8)
        #expect(try store(payload, HeaderDictionaries()).payload.count < 40)
    }

    @Test func `damaged bytes are noticed`() throws {
        let stored = try store(Array(#"{"a":"bcdefghijklmnop"}"#.utf8), HeaderDictionaries())
        for place in stored.payload.indices {
            var bytes = stored.payload
            bytes[place] ^= 0x10
            let damaged = StoredJWS(headerID: stored.headerID, payload: bytes, signature: stored.signature)
            let restored = try? HeaderDictionaries().restore(damaged, header: Sample.header)
            #expect(restored == nil || restored == Array(#"{"a":"bcdefghijklmnop"}"#.utf8))
        }
    }

    @Test func `another header does not restore it`() throws {
        let stored = try store(Sample.header, HeaderDictionaries())
        let other = Array(Sample.header.reversed())
        #expect(throws: (any Error).self) { try HeaderDictionaries().restore(stored, header: other) }
    }

    @Test func `a payload over the limit is not restored`() throws {
        let stored = try store([UInt8](repeating: 1, count: StoredJWS.payloadLimit + 1), HeaderDictionaries())
        #expect(throws: (any Error).self) { try HeaderDictionaries().restore(stored, header: Sample.header) }
    }

    @Test func `hundreds of headers one after another all work`() throws {
        let dictionaries = HeaderDictionaries()
        for number in 0..<300 {
            let header = Array("header number \(number) \(String(repeating: "x", count: 50))".utf8)
            let id = StoredJWS.headerID(header)
            let payload = Array("payload \(number)".utf8)
            let stored = StoredJWS(
                headerID: id, payload: try dictionaries.compress(payload, header: header, id: id), signature: [])
            #expect(try dictionaries.restore(stored, header: header) == payload)
        }
    }
}
