import Base
import Crypto
import Testing

struct DigestTests {
    /// FIPS 180-4 examples.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    ])
    func `SHA-256 is what the standard says`(text: String, expected: String) {
        #expect(Hex.encode(Digest.sha256(Array(text.utf8))) == expected)
    }

    /// RFC 4231 §4.2, 4.3, 4.7, and the empty key.
    @Test(arguments: [
        (
            Array(repeating: UInt8(0x0b), count: 20), "Hi There",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            Array("Jefe".utf8), "what do ya want for nothing?",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            Array(repeating: UInt8(0xaa), count: 131), "Test Using Larger Than Block-Size Key - Hash Key First",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
    ])
    func `HMAC is what the RFC says`(key: [UInt8], message: String, expected: String) {
        #expect(Hex.encode(Digest.hmacSHA256(key: key, Array(message.utf8))) == expected)
    }

    @Test func `secrets are compared by all their bytes`() {
        #expect(ConstantTime.equal([], []))
        #expect(ConstantTime.equal([1, 2, 3], [1, 2, 3]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2, 4]))
        #expect(!ConstantTime.equal([1, 2, 3], [1, 2]))
    }

    @Test func `random bytes do not repeat`() {
        #expect(SecureRandom.bytes(0) == [])
        #expect(SecureRandom.bytes(-1) == [])
        let many = (0..<100).map { _ in SecureRandom.bytes(16) }
        #expect(Set(many).count == 100)
        #expect(many.allSatisfy { $0.count == 16 })
    }
}
