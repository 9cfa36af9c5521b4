import Base
import Database
import Testing

/// The same numbers in every run.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        // SplitMix64.
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}

@Suite struct `zstd` {
    private static let words = Array("signedPayload environment Production bundleId com.example.app ".utf8)

    private static func sample(_ length: Int, _ generator: inout SeededGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < length {
            if Bool.random(using: &generator) {
                bytes += words.prefix(Int.random(in: 1...words.count, using: &generator))
            } else {
                bytes += (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                }
            }
        }
        return Array(bytes.prefix(length))
    }

    /// Those of facts.
    private static let tables = """
        N6Qw7AEAAAAwEMjSpAP///////+X1FYKCOF7E4DI2HLvMpBaa0n1bvgrQ/YRVKWUZEpJphtB7s5AAwMACBgVx6HF7QAABEBDhQ\
        JChswEBwHFRwzHg6EgACKJQycxBgRpBkABBxiiOUAAAAAA5I7psFFQFgVDAcEhBwAAAADAAgAAAAABAAAABAAAAAgAAAA=
        """

    @Test(arguments: [0, 1, 100, 4_400, 100_000])
    func `with tables everything comes back`(length: Int) throws {
        var generator = SeededGenerator(state: UInt64(length))
        let content = `zstd`.sample(1_000, &generator)
        let dictionary = try ZstdDictionary(content, tables: `zstd`.tables)
        let bytes = `zstd`.sample(length, &generator)
        let frame = try Zstd.compress(bytes, dictionary: dictionary)
        #expect(try Zstd.decompress(frame, dictionary: dictionary, limit: length) == bytes)
        let again = try ZstdDictionary(content, tables: `zstd`.tables)
        #expect(try Zstd.decompress(frame, dictionary: again, limit: length) == bytes)
        #expect(throws: ZstdError.self) {
            try Zstd.decompress(frame, dictionary: ZstdDictionary(content), limit: length)
        }
    }

    @Test func `tables save a tenth of short texts`() throws {
        let content = Array(#"{"transactionId":"2000","appAccountToken":"","purchaseDate":179,"signedDate":179}"#.utf8)
        let text = Array(
            """
            {"transactionId":"2000593000353002","appAccountToken":"bc7ceeaa-31e8-4e20-ba8c-76f739ccbb92",\
            "purchaseDate":1766171263404,"signedDate":1763579263408}
            """.utf8)
        let former = try Zstd.compress(text, dictionary: ZstdDictionary(content))
        let now = try Zstd.compress(text, dictionary: ZstdDictionary(content, tables: `zstd`.tables))
        #expect(now.count * 10 < former.count * 9, "\(now.count) bytes, \(former.count) before")
    }

    @Test func `frames made before there were tables are read`() throws {
        var generator = SeededGenerator(state: 5)
        for length in [0, 1, 100, 4_400] {
            let (content, bytes) = (`zstd`.sample(1_000, &generator), `zstd`.sample(length, &generator))
            let frame = try Zstd.compress(bytes, dictionary: ZstdDictionary(content))
            let dictionary = try ZstdDictionary(content, tables: `zstd`.tables)
            #expect(try Zstd.decompress(frame, dictionary: dictionary, limit: length) == bytes)
        }
    }

    @Test func `damaged tables are an error or other tables, and nothing wrong comes out`() throws {
        var generator = SeededGenerator(state: 6)
        let content = `zstd`.sample(1_000, &generator)
        let bytes = `zstd`.sample(300, &generator)
        let frame = try Zstd.compress(bytes, dictionary: ZstdDictionary(content, tables: `zstd`.tables))
        var refused = 0
        let tables = try #require(Base64.decode(`zstd`.tables.utf8))
        for place in tables.indices {
            var damaged = tables
            damaged[place] ^= UInt8.random(in: 1...255, using: &generator)
            guard let dictionary = try? ZstdDictionary(content, tables: Base64.encode(damaged)) else {
                refused += 1
                continue
            }
            let read = try? Zstd.decompress(frame, dictionary: dictionary, limit: 1_000)
            #expect(read == nil || read == bytes, "byte \(place)")
        }
        #expect(refused > 0)
        let unnamed = Base64.encode(tables.prefix(4) + [0] + tables.dropFirst(5))
        for text in ["?", "AAAA", String(`zstd`.tables.dropLast(8)), unnamed] {
            #expect(throws: ZstdError.self) { try ZstdDictionary(content, tables: text) }
        }
        #expect(throws: ZstdError.self) { try ZstdDictionary([1, 2, 3, 4, 5, 6, 7], tables: `zstd`.tables) }
    }

    @Test(arguments: [0, 1, 7, 8, 100, 4_400, 100_000])
    func `what is compressed comes back, with and without a dictionary`(length: Int) throws {
        var generator = SeededGenerator(state: UInt64(length))
        for dictionaryLength in [0, 1, 8, 4_400] {
            let content = `zstd`.sample(dictionaryLength, &generator)
            let dictionary = try ZstdDictionary(content)
            let bytes = `zstd`.sample(length, &generator)
            let plain = try Zstd.compress(bytes)
            #expect(try Zstd.decompress(plain, limit: length) == bytes)
            let short = try Zstd.compress(bytes, dictionary: dictionary)
            #expect(try Zstd.decompress(short, dictionary: ZstdDictionary(content), limit: length) == bytes)
        }
    }

    @Test func `a dictionary saves what the data repeats from it`() throws {
        var generator = SeededGenerator(state: 1)
        let chain = `zstd`.sample(4_400, &generator)
        let bytes = chain + Array("rest".utf8)
        let dictionary = try ZstdDictionary(chain)
        #expect(try Zstd.compress(bytes, dictionary: dictionary).count < 100)
        #expect(try Zstd.compress(bytes).count > 1_000)
    }

    @Test func `another dictionary is noticed`() throws {
        var generator = SeededGenerator(state: 2)
        let first = `zstd`.sample(4_400, &generator)
        let second = `zstd`.sample(4_400, &generator)
        let compressed = try Zstd.compress(first, dictionary: ZstdDictionary(first))
        #expect(throws: ZstdError.self) {
            try Zstd.decompress(compressed, dictionary: ZstdDictionary(second), limit: 10_000)
        }
        #expect(throws: ZstdError.self) { try Zstd.decompress(compressed, limit: 10_000) }
    }

    @Test func `every changed byte and every missing end is an error`() throws {
        var generator = SeededGenerator(state: 3)
        let bytes = `zstd`.sample(600, &generator)
        let dictionary = try ZstdDictionary(`zstd`.sample(4_400, &generator))
        let compressed = try Zstd.compress(bytes, dictionary: dictionary)
        for place in compressed.indices {
            var damaged = compressed
            damaged[place] ^= UInt8.random(in: 1...255, using: &generator)
            // Bits that mean nothing may change without effect; wrong bytes must never come out.
            let read = try? Zstd.decompress(damaged, dictionary: dictionary, limit: 100_000)
            #expect(read == nil || read == bytes, "byte \(place)")
            #expect(throws: ZstdError.self) {
                try Zstd.decompress(Array(compressed.prefix(place)), dictionary: dictionary, limit: 100_000)
            }
        }
        var changed = compressed
        changed[compressed.count - 1] ^= 1
        #expect(throws: ZstdError.self) { try Zstd.decompress(changed, dictionary: dictionary, limit: 100_000) }
    }

    @Test func `noise is an error`() {
        var generator = SeededGenerator(state: 4)
        for _ in 0..<2_000 {
            let length = Int.random(in: 0...64, using: &generator)
            let noise =
                [0x28, 0xb5, 0x2f, 0xfd] + (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(throws: ZstdError.self) { try Zstd.decompress(noise, limit: 1_000) }
            #expect(throws: ZstdError.self) { try Zstd.decompress(Array(noise.dropFirst(4)), limit: 1_000) }
        }
    }

    @Test func `more than the limit is refused before memory is taken`() throws {
        let compressed = try Zstd.compress([UInt8](repeating: 7, count: 1 << 24))
        #expect(compressed.count < 5_000)
        #expect(throws: ZstdError(message: "more than 1000 bytes")) { try Zstd.decompress(compressed, limit: 1_000) }
        #expect(throws: ZstdError.self) { try Zstd.decompress(compressed, limit: -1) }
        #expect(throws: ZstdError.self) { try Zstd.decompress(compressed, limit: 1 << 24 - 1) }
        #expect(try Zstd.decompress(compressed, limit: 1 << 24).count == 1 << 24)
    }

    @Test func `one dictionary serves several threads`() async throws {
        let dictionary = try ZstdDictionary(`zstd`.words)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for seed in 0..<8 {
                group.addTask {
                    var generator = SeededGenerator(state: UInt64(seed))
                    for _ in 0..<100 {
                        let bytes = `zstd`.sample(2_000, &generator)
                        let compressed = try Zstd.compress(bytes, dictionary: dictionary)
                        #expect(try Zstd.decompress(compressed, dictionary: dictionary, limit: 2_000) == bytes)
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}
