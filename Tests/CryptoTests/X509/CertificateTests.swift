import Base
import Crypto
import Foundation
import Testing

/// Certificates made by the `openssl` program.
@Suite(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/openssl"), "skipped: no openssl program"))
final class CertificateTests {
    private let folder = FileManager.default.temporaryDirectory.appending(path: "entitled-crypto-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        try Data("[req]\ndistinguished_name=dn\n[dn]\n".utf8).write(to: folder.appending(path: "req.cnf"))
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private func openssl(_ arguments: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = folder
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }

    /// A self-signed certificate in DER, and its key beside it.
    private func make(_ name: String, curve: String = "prime256v1", days: Int = 10) throws -> [UInt8] {
        let key = "\(name).key"
        try openssl("ecparam", "-name", curve, "-genkey", "-noout", "-out", key)
        try openssl(
            "req", "-x509", "-new", "-config", "req.cnf", "-key", key, "-subj", "/CN=\(name)/O=Exämple/C=US", "-utf8",
            "-days", String(days), "-sha256", "-addext", "basicConstraints=critical,CA:TRUE", "-addext",
            "1.2.840.113635.100.6.2.1=ASN1:NULL", "-outform", "DER", "-out", "\(name).der")
        return try bytes("\(name).der")
    }

    private func bytes(_ file: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appending(path: file)))
    }

    @Test func `a certificate tells its name, its dates and its extensions`() throws {
        let der = try make("Root")
        let certificate = try #require(Certificate(der: der))
        #expect(certificate.subject == "CN=Root, O=Exämple, C=US")
        #expect(certificate.fingerprint == Digest.sha256(der))
        #expect(certificate.notAfter - certificate.notBefore == 10 * 86_400_000)
        #expect(abs(certificate.notBefore - SystemClock().now()) < 600_000)
        #expect(certificate.extensions.isSuperset(of: ["2.5.29.19", "1.2.840.113635.100.6.2.1"]))
        #expect(certificate.isValid(at: certificate.notBefore) && !certificate.isValid(at: certificate.notBefore - 1))
        #expect(certificate.isValid(at: certificate.notAfter - 1) && !certificate.isValid(at: certificate.notAfter))
        #expect(CertificateSummary(certificate).sha256 == Hex.encode(Digest.sha256(der)))
    }

    @Test func `only a key on P-256 is one for ES256`() throws {
        #expect(try #require(Certificate(der: make("A"))).verificationKey != nil)
        #expect(try #require(Certificate(der: make("B", curve: "secp384r1"))).verificationKey == nil)
        #expect(try #require(Certificate(der: make("C", curve: "secp256k1"))).verificationKey == nil)
    }

    @Test func `what is cut, longer or no certificate is not parsed`() throws {
        let der = try make("Root")
        #expect(Certificate(der: []) == nil)
        #expect(Certificate(der: der + [0]) == nil)
        #expect(Certificate(der: Array(repeating: 0x30, count: Certificate.maximumSize + 1)) == nil)
        for count in stride(from: 0, to: der.count, by: 7) {
            #expect(Certificate(der: Array(der.prefix(count))) == nil)
        }
    }

    @Test func `a signature is good for its key and its bytes only`() throws {
        let key = try #require(Certificate(der: make("Root"))?.verificationKey)
        let stranger = try #require(Certificate(der: make("Stranger"))?.verificationKey)
        let message = Array("header.payload".utf8)
        try Data(message).write(to: folder.appending(path: "message"))
        try openssl("dgst", "-sha256", "-sign", "Root.key", "-out", "signature", "message")
        let signature = raw(try bytes("signature"))
        #expect(key.verifies(signature, of: message[...]))
        #expect(!key.verifies(signature, of: message.dropLast()))
        #expect(!key.verifies(signature, of: []))
        #expect(!stranger.verifies(signature, of: message[...]))
        #expect(!key.verifies(try bytes("signature"), of: message[...]))
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 1
            #expect(!key.verifies(changed, of: message[...]))
        }
    }

    /// r ‖ s of `ECDSA-Sig-Value`.
    private func raw(_ der: [UInt8]) -> [UInt8] {
        let size = Int(der[3])
        return [der[4..<(4 + size)], der[(6 + size)...]].flatMap { number -> [UInt8] in
            let digits = Array(number.drop { $0 == 0 })
            return Array(repeating: 0, count: 32 - digits.count) + digits
        }
    }

    @Test func `a file holds one certificate in DER, or any number in PEM`() throws {
        let (one, two) = (try make("One"), try make("Two"))
        for name in ["One", "Two"] {
            try openssl("x509", "-inform", "DER", "-in", "\(name).der", "-out", "\(name).pem")
        }
        let both = try bytes("One.pem") + Array("some words\n".utf8) + bytes("One.key") + bytes("Two.pem")
        try Data(both).write(to: folder.appending(path: "both.pem"))
        #expect(CertificateFile.certificates(in: one)?.map(\.der) == [one])
        #expect(CertificateFile.certificates(in: try bytes("Two.pem"))?.map(\.der) == [two])
        let read = try CertificateFile.certificates(at: folder.appending(path: "both.pem").path)
        #expect(read.map(\.der) == [one, two])
        let text = Array("subject=x\r\n".utf8) + (try bytes("One.pem")).flatMap { $0 == 10 ? [13, 10] : [$0] }
        #expect(CertificateFile.certificates(in: text)?.map(\.der) == [one])
    }

    @Test func `a file that is cut off or damaged has no certificates`() throws {
        let (one, two) = (try make("One"), try make("Two"))
        try openssl("x509", "-inform", "DER", "-in", "One.der", "-out", "One.pem")
        let whole = try bytes("One.pem")
        let damaged =
            [
                [], [0x30], [0x30, 0x84, 0xff, 0xff, 0xff, 0xff], [0x30, 0x80], [0x30, 0x00], one + [0], one.dropLast(),
                one + two, whole.dropLast(10), whole + Array("-----BEGIN CERTIFICATE-----".utf8),
                whole + whole.dropLast(40),
                whole + Array("-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n".utf8),
            ] as [[UInt8]]
        for bytes in damaged { #expect(CertificateFile.certificates(in: bytes) == nil, "\(bytes.count) bytes") }
    }

    @Test func `a file without a certificate is refused with a reason`() throws {
        let path = folder.appending(path: "file").path
        #expect(throws: CertificateFileFailure.unreadable(path: path)) { try CertificateFile.certificates(at: path) }
        let bad = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        for text in ["", "nothing", bad] {
            try Data(text.utf8).write(to: URL(filePath: path))
            #expect(throws: CertificateFileFailure.noCertificate(path: path)) {
                try CertificateFile.certificates(at: path)
            }
        }
    }

    @Test func `the same name with another key is another authority`() throws {
        let one = try #require(Certificate(der: make("Root")))
        let same = try #require(Certificate(der: bytes("Root.der")))
        let other = try #require(Certificate(der: make("Root")))
        let renamed = try #require(Certificate(der: make("Other")))
        #expect(one.hasSameNameAndKey(as: same))
        #expect(!one.hasSameNameAndKey(as: other))
        #expect(!one.hasSameNameAndKey(as: renamed))
        #expect(one.isSigned(by: same) && !one.isSigned(by: other))
    }

    @Test func `a path has three certificates, each issued by the next`() throws {
        let root = try #require(Certificate(der: make("Root")))
        let path = CertificatePath(leaf: root, intermediate: root, anchor: root)
        #expect(!path.isValid(at: root.notBefore))
    }
}
