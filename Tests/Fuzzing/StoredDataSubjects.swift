import Base
import Crypto
import Database

/// JSON, and payloads as the database keeps them.
package enum StoredDataSubjects {
    package static func all() throws -> [FuzzSubject] {
        let chain = try FuzzChain()
        return [json(chain), packed, restored(chain), zstd]
    }

    private static func json(_ chain: FuzzChain) -> FuzzSubject {
        let texts = [
            #"{"a":[1,-2.5,1e300,true,null,"\u00e9\ud83d\ude00\n"],"b":{"":{}}}"#, "[]", "-0.0", "1e17", #""\\\"""#,
            "[9223372036854775807,9223372036854775808,0.1]", "{a:1,/* x */'b':0x10,}",
        ]
        let seeds = texts.map { Array($0.utf8) } + [FuzzChain.transaction, FuzzChain.renewal]
        return FuzzSubject("json", seeds: seeds, inputs: 16_000) { input in
            _ = try? JSON(parsing: input, json5: true)
            guard let value = try? JSON(parsing: input) else { return nil }
            // A number with a fraction that a double cannot hold comes back as a whole one; from then on it stays.
            guard let again = try? JSON(parsing: value.bytes) else { return "what was written cannot be read" }
            return (try? JSON(parsing: again.bytes)) == again ? nil : "read anew, it differs"
        }
    }

    private static let header = Array("eyJhbGciOiJFUzI1NiJ9".utf8)

    private static func stored(_ payload: [UInt8]) -> StoredJWS {
        StoredJWS(headerID: StoredJWS.headerID(header), payload: payload, signature: [])
    }

    /// The inside of a frame, which zstd's checksum would guard from mutations.
    private static var packed: FuzzSubject {
        let dictionaries = HeaderDictionaries()
        let text = Array(#"{"a":"","b":""}"#.utf8)
        let seeds: [[UInt8]] = [
            [1, 0] + text,
            [1, 1, 6, 9, 4] + text.prefix(6) + Array("some json".utf8) + text.dropFirst(6) + [1, 2, 3, 4],
            [1, 2, 6, 3, 1, 5, 2, 1] + text + [1, 2, 3, 4, 5, 6, 7], [1, 0x80, 0x80, 0x80, 0], [0], [],
        ]
        return FuzzSubject("packed", seeds: seeds, inputs: 20_000) { input in
            guard let frame = try? Zstd.compress(input),
                let found = try? dictionaries.restore(stored(frame), header: header)
            else { return nil }
            return found.count <= StoredJWS.payloadLimit ? nil : "more than the limit"
        }
    }

    /// What was packed is restored, whatever it is.
    private static func restored(_ chain: FuzzChain) -> FuzzSubject {
        let dictionaries = HeaderDictionaries()
        let inner = header + Array(".e30.AAAA".utf8)
        let nested =
            Array(#"{"data":{"signedTransactionInfo":""#.utf8) + inner + Array(#"","x":""#.utf8) + inner + inner
        let seeds = [nested, nested + Array(#""}}"#.utf8), inner, FuzzChain.transaction, chain.notification()]
        return FuzzSubject("restored", seeds: seeds, inputs: 8_000) { input in
            let id = StoredJWS.headerID(header)
            guard let frame = try? dictionaries.compress(input, header: header, id: id) else { return "not packed" }
            return (try? dictionaries.restore(stored(frame), header: header)) == input ? nil : "restored something else"
        }
    }

    private static var zstd: FuzzSubject {
        let dictionaries = HeaderDictionaries()
        let texts = [[], FuzzChain.transaction, Array(repeating: 7, count: 5000)]
        let id = StoredJWS.headerID(header)
        let seeds =
            texts.compactMap { try? Zstd.compress($0) }
            + texts.compactMap { try? dictionaries.compress($0, header: header, id: id) }
        return FuzzSubject("zstd", seeds: seeds, inputs: 16_000) { input in
            _ = try? dictionaries.restore(stored(input), header: header)
            guard let found = try? Zstd.decompress(input, limit: 10_000) else { return nil }
            return found.count <= 10_000 ? nil : "more than the limit"
        }
    }
}
