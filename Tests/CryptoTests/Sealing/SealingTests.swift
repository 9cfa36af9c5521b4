import Crypto
import Testing

struct SealingTests {
    private let key = Array(UInt8(0)..<32)
    private let place = Array("endpoint 7".utf8)

    @Test(arguments: [0, 1, 16, 1000])
    func `what was sealed is opened`(size: Int) throws {
        let plaintext = SecureRandom.bytes(size)
        let sealed = try Sealing.seal(plaintext, key: key, associatedData: place)
        #expect(sealed.count == size + 28)
        #expect(Sealing.open(sealed, key: key, associatedData: place) == plaintext)
    }

    @Test func `the same secret looks different every time`() throws {
        let sealed = try (0..<10).map { _ in try Sealing.seal([1, 2, 3], key: key, associatedData: []) }
        #expect(Set(sealed).count == 10)
        #expect(Sealing.open(sealed[0], key: key, associatedData: []) == [1, 2, 3])
    }

    @Test func `any changed bit is noticed`() throws {
        let sealed = try Sealing.seal(Array("secret".utf8), key: key, associatedData: place)
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(Sealing.open(changed, key: key, associatedData: place) == nil)
        }
        for count in 0..<sealed.count {
            #expect(Sealing.open(Array(sealed.prefix(count)), key: key, associatedData: place) == nil)
        }
    }

    @Test func `another key or place does not open it`() throws {
        let sealed = try Sealing.seal([1], key: key, associatedData: place)
        #expect(Sealing.open(sealed, key: key.reversed(), associatedData: place) == nil)
        #expect(Sealing.open(sealed, key: key, associatedData: Array("endpoint 8".utf8)) == nil)
        #expect(Sealing.open(sealed, key: [], associatedData: place) == nil)
    }

    @Test(arguments: [0, 16, 31, 33])
    func `a key of another size is refused`(size: Int) {
        #expect(throws: SealingFailure.wrongKeySize) {
            try Sealing.seal([1], key: Array(repeating: 1, count: size), associatedData: [])
        }
    }
}
