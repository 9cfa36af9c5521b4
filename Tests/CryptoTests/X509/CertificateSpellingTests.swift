import Base
import Crypto
import Testing

/// One certificate has one spelling.
struct CertificateSpellingTests {
    private let der: [UInt8]

    init() throws {
        let profile = CertificateIssuer.Profile(
            commonName: "Root", notBefore: 0, notAfter: 4_000_000_000_000, isAuthority: true,
            markers: ["1.2.840.113635.100.6.2.1"])
        der = try CertificateIssuer.root(profile, key: .generate(.p384)).der
    }

    @Test func `a certificate in DER is read`() throws {
        #expect(Certificate(der: der)?.der == der)
        #expect(der.prefix(2) == [0x30, 0x82])
    }

    @Test func `longer forms of its length are refused`() {
        let (size, rest) = (Array(der[2..<4]), Array(der[4...]))
        #expect(Certificate(der: [0x30, 0x83, 0] + size + rest) == nil)
        #expect(Certificate(der: [0x30, 0x84, 0, 0] + size + rest) == nil)
        // BER's indefinite length.
        #expect(Certificate(der: [0x30, 0x80] + rest + [0, 0]) == nil)
    }

    @Test func `nothing stands before or behind it`() {
        for extra: [UInt8] in [[0], [0, 0], [0x30, 0], [0x05, 0x00]] {
            #expect(Certificate(der: der + extra) == nil)
            #expect(Certificate(der: extra + der) == nil)
        }
        #expect(Certificate(der: der + der) == nil)
    }

    /// The signature's algorithm is told twice; a spelling of it with other parameters would be another certificate.
    @Test func `each byte counts`() {
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x20
            guard let certificate = Certificate(der: changed) else { continue }
            #expect(certificate.fingerprint != Digest.sha256(der))
            #expect(!CertificatePath(leaf: certificate, intermediate: certificate, anchor: certificate).isValid(at: 1))
        }
    }
}
