import Base
import Crypto
import Testing

/// ECDSA on P-256 at the edges of its numbers.
struct SignatureRangeTests {
    private let key: SigningKey
    private let verifying: VerificationKey
    private let message = Array("header.payload".utf8)
    /// The order of P-256 (SEC 2 §2.4.2).
    private static let order = Hex.decode("FFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551") ?? []

    init() throws {
        key = try .generate(.p256)
        let profile = CertificateIssuer.Profile(commonName: "Key", notBefore: 0, notAfter: 4_000_000_000_000)
        verifying = try #require(Certificate(der: try CertificateIssuer.root(profile, key: key).der)?.verificationKey)
    }

    /// `one - other`, both of 32 bytes; `one` is the greater.
    private func difference(_ one: [UInt8], _ other: [UInt8]) -> [UInt8] {
        var result = one
        var borrow = 0
        for index in result.indices.reversed() {
            let digit = Int(one[index]) - Int(other[index]) - borrow
            borrow = digit < 0 ? 1 : 0
            result[index] = UInt8(truncatingIfNeeded: digit)
        }
        return result
    }

    @Test func `numbers outside of 1 to the order are no signature`() throws {
        let genuine = try key.signES256(message)
        let (r, s) = (Array(genuine.prefix(32)), Array(genuine.suffix(32)))
        #expect(verifying.verifies(genuine, of: message[...]))
        let (zero, top) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xff, count: 32))
        let bad = [zero, Self.order, top]
        for number in bad {
            #expect(!verifying.verifies(number + s, of: message[...]))
            #expect(!verifying.verifies(r + number, of: message[...]))
            for other in bad {
                #expect(!verifying.verifies(number + other, of: message[...]))
            }
        }
    }

    /// Every ECDSA signature has a twin with n - s, which JWS does not forbid: nothing may be recognised by its
    /// signature.
    @Test func `the twin of a signature is good, and no other change of s is`() throws {
        let genuine = try key.signES256(message)
        let (r, s) = (Array(genuine.prefix(32)), Array(genuine.suffix(32)))
        let twin = difference(Self.order, s)
        #expect(verifying.verifies(r + twin, of: message[...]))
        var near = twin
        near[31] ^= 1
        #expect(!verifying.verifies(r + near, of: message[...]))
    }

    @Test(arguments: [0, 1, 32, 63, 65, 70, 71, 72, 96, 128, 4096])
    func `a signature has 64 bytes`(count: Int) throws {
        let genuine = try key.signES256(message)
        let filled = Array((genuine + [UInt8](repeating: 0, count: 4096)).prefix(count))
        #expect(!verifying.verifies(filled, of: message[...]))
    }

    @Test func `ASN1 is no signature, even where it has 64 bytes`() throws {
        #expect(!verifying.verifies(try key.signDER(message), of: message[...]))
        let number = [0x02, 29] + [UInt8](repeating: 1, count: 29)
        let short = [0x30, 62] + number + number
        #expect(short.count == 64 && !verifying.verifies(short, of: message[...]))
    }
}
