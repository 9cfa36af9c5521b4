import Base
import Crypto
import Testing

/// A secret that one process seals for another one.
struct AnswerKeyTests {
    @Test func `a pair of a seed is the same each time`() throws {
        let seed = [UInt8](0..<32)
        let (one, same, other) = (
            try AnswerKey(seed: seed), try AnswerKey(seed: seed), try AnswerKey(seed: seed.reversed())
        )
        let sealed = try AnswerKey.seal([1, 2, 3], to: one.publicKey, context: "c")
        #expect(same.publicKey == one.publicKey && same.open(sealed, context: "c") == [1, 2, 3])
        #expect(other.publicKey != one.publicKey && other.open(sealed, context: "c") == nil)
        for wrong in [[], Array(seed.dropLast()), seed + [0]] {
            #expect(throws: SealingFailure.wrongKeySize) { _ = try AnswerKey(seed: wrong) }
        }
    }

    private let secret = Array("whsec_of an endpoint".utf8)

    @Test func `the key that was asked with opens it, and no other one`() throws {
        let (key, other) = (try AnswerKey(), try AnswerKey())
        let sealed = try AnswerKey.seal(secret, to: key.publicKey, context: "change 7")
        #expect(key.open(sealed, context: "change 7") == secret)
        #expect(other.open(sealed, context: "change 7") == nil)
        #expect(key.open(sealed, context: "change 8") == nil)
        #expect(sealed.count == AnswerKey.size + 12 + secret.count + 16)
        #expect(!sealed.indices.contains { sealed[$0...].starts(with: secret) })
        // A pair of its own for each secret.
        #expect(try AnswerKey.seal(secret, to: key.publicKey, context: "change 7").prefix(32) != sealed.prefix(32))
    }

    @Test func `what was changed on its way is not opened`() throws {
        let key = try AnswerKey()
        let sealed = try AnswerKey.seal(secret, to: key.publicKey, context: "")
        for place in [0, 31, 32, 50, sealed.count - 1] {
            var changed = sealed
            changed[place] ^= 1
            #expect(key.open(changed, context: "") == nil, "\(place)")
        }
        for length in [0, 31, 32, 59] { #expect(key.open(Array(sealed.prefix(length)), context: "") == nil) }
    }

    /// RFC 7748 §6.1: with such a key everybody would know the shared secret.
    @Test func `a key of low order, or of another size, is refused`() throws {
        let one = [1] + [UInt8](repeating: 0, count: 31)
        for key in [[UInt8](repeating: 0, count: 32), one, [], [UInt8](repeating: 9, count: 31)] {
            #expect(throws: SealingFailure.wrongKeySize) { _ = try AnswerKey.seal(secret, to: key, context: "") }
        }
        let key = try AnswerKey()
        #expect(key.open(one + [UInt8](repeating: 0, count: 60), context: "") == nil)
    }
}
