import Base
import Crypto
import Foundation
import Testing

@testable import StoreSimulator

@Suite struct PKITests {
    @Test(.enabled(if: OpenSSLCommand.exists, "\(OpenSSLCommand.absence)"))
    func `openssl accepts a generated chain`() throws {
        let folder = try TemporaryFolder()
        try PKIFolder(folder.path).write(try StorePKI.generate(now: SystemClock().now()))
        let verified = try OpenSSLCommand.run(
            "verify", "-x509_strict", "-CAfile", "\(folder.path)/root.pem", "-untrusted",
            "\(folder.path)/intermediate.pem", "\(folder.path)/leaf.pem")
        #expect(verified.status == 0, "\(verified.output)")
        let other = try TemporaryFolder()
        try PKIFolder(other.path).write(try StorePKI.generate(now: SystemClock().now()))
        let refused = try OpenSSLCommand.run(
            "verify", "-CAfile", "\(other.path)/root.pem", "-untrusted", "\(folder.path)/intermediate.pem",
            "\(folder.path)/leaf.pem")
        #expect(refused.status != 0)
    }

    @Test(
        .enabled(if: OpenSSLCommand.exists, "\(OpenSSLCommand.absence)"),
        arguments: [
            ("leaf.pem", "1.2.840.113635.100.6.11.1", "CA:FALSE", "Digital Signature", "NIST CURVE: P-256"),
            (
                "intermediate.pem", "1.2.840.113635.100.6.2.1", "CA:TRUE, pathlen:0", "Certificate Sign",
                "NIST CURVE: P-384"
            ),
            ("root.pem", "ecdsa-with-SHA384", "CA:TRUE", "Certificate Sign", "NIST CURVE: P-384"),
        ])
    func `each certificate says what Apple's says`(file: String, marker: String, ca: String, usage: String, key: String)
        throws
    {
        let folder = try TemporaryFolder()
        try PKIFolder(folder.path).write(try StorePKI.generate(now: testNow))
        let text = try OpenSSLCommand.run("x509", "-in", "\(folder.path)/\(file)", "-noout", "-text").output
        for wanted in [
            marker, ca, usage, key, "Subject Key Identifier", "Authority Key Identifier", "ecdsa-with-SHA384",
        ] {
            #expect(text.contains(wanted), "\(wanted) is missing")
        }
    }

    @Test(.enabled(if: OpenSSLCommand.exists, "\(OpenSSLCommand.absence)"))
    func `the fingerprint is that of openssl`() throws {
        let folder = try TemporaryFolder()
        let pki = try StorePKI.generate(now: testNow)
        try PKIFolder(folder.path).write(pki)
        let said = try OpenSSLCommand.run(
            "x509", "-in", "\(folder.path)/root.pem", "-noout", "-fingerprint", "-sha256"
        ).output
        #expect(said.replacing(":", with: "").contains("Fingerprint=\(pki.rootFingerprint)"))
    }

    @Test func `a marker is a NULL in an extension of its own`() throws {
        let pki = try StorePKI.generate(now: testNow)
        // OBJECT IDENTIFIER 1.2.840.113635.100.6.11.1, then OCTET STRING of NULL.
        let leaf: [UInt8] = [
            0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x06, 0x0b, 0x01, 0x04, 0x02, 0x05, 0x00,
        ]
        let intermediate: [UInt8] = [
            0x06, 0x0a, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x63, 0x64, 0x06, 0x02, 0x01, 0x04, 0x02, 0x05, 0x00,
        ]
        #expect(pki.leaf.der.contains(leaf) && !pki.leaf.der.contains(intermediate))
        #expect(pki.intermediate.der.contains(intermediate) && !pki.intermediate.der.contains(leaf))
        var flawed = StorePKI.Options()
        flawed.hasLeafMarker = false
        flawed.hasIntermediateMarker = false
        let bare = try StorePKI.generate(flawed, now: testNow)
        #expect(!bare.leaf.der.contains(leaf) && !bare.intermediate.der.contains(intermediate))
    }

    @Test func `what a folder holds is what was written, and the key is only the owner's`() throws {
        let folder = try TemporaryFolder()
        let pki = try StorePKI.generate(now: testNow)
        try PKIFolder(folder.path).write(pki)
        let loaded = try PKIFolder(folder.path).load()
        #expect(loaded.chain == pki.chain)
        #expect(loaded.leafKey.publicKey() == pki.leafKey.publicKey())
        #expect(folder.files == ["chain.pem", "intermediate.pem", "leaf.key", "leaf.pem", "root.pem"])
        let mode = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/leaf.key")[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `nothing is replaced unless forced`() throws {
        let folder = try TemporaryFolder()
        let (first, second) = (try StorePKI.generate(now: testNow), try StorePKI.generate(now: testNow))
        let files = PKIFolder(folder.path)
        try files.write(first)
        #expect(throws: PKIFolder.Failure.occupied("\(folder.path)/root.pem")) { try files.write(second) }
        #expect(try files.load().chain == first.chain)
        try files.write(second, force: true)
        #expect(try files.load().chain == second.chain)
    }

    @Test func `several chains may stand under one root`() throws {
        let authority = try StorePKI.authority(now: testNow)
        let (one, other) = (
            try StorePKI.generate(under: authority, now: testNow), try StorePKI.generate(under: authority, now: testNow)
        )
        #expect(one.root == other.root && one.leaf != other.leaf)
    }
}

@Suite struct SigningTests {
    static let pki = Result { try StorePKI.generate(now: testNow) }

    @Test(.enabled(if: OpenSSLCommand.exists, "\(OpenSSLCommand.absence)"))
    func `openssl accepts the signature, and not of anything else`() throws {
        let folder = try TemporaryFolder()
        let key = try SigningKey.generate(.p256)
        let publicKey = try folder.write("key.pem", PEMBlock.encode("PUBLIC KEY", key.publicKey()).utf8)
        let signature = try folder.write("signature", try key.signDER(Array("what was signed".utf8)))
        for (message, status) in [("what was signed", Int32(0)), ("what was not", 1)] {
            let checked = try OpenSSLCommand.run(
                "dgst", "-sha256", "-verify", publicKey, "-signature", signature, input: Data(message.utf8))
            #expect(checked.status == status, "\(checked.output)")
        }
    }

    @Test(.enabled(if: OpenSSLCommand.exists, "\(OpenSSLCommand.absence)"))
    func `a JWS verifies with the key of its leaf`() throws {
        let folder = try TemporaryFolder()
        let pki = try SigningTests.pki.get()
        let signed = try NotificationSigner(pki).sign(.object(["answer": .int(42)]))
        let (header, payload, signature) = try JWSReading.parts(signed)
        #expect(header.members?.map(\.name) == ["alg", "x5c"])
        #expect(header["alg"]?.stringValue == "ES256")
        #expect(header["x5c"]?.arrayValue == pki.chain.map { .string(Base64.encode($0.der)) })
        #expect(payload["answer"]?.intValue == 42)
        try #require(signature.count == 64)
        let leaf = try folder.write("leaf.pem", pki.leaf.pem.utf8)
        let publicKey = try OpenSSLCommand.run("x509", "-in", leaf, "-noout", "-pubkey").output
        let message = Data(signed.utf8.prefix(signed.utf8.count - 87))
        let checked = try OpenSSLCommand.run(
            "dgst", "-sha256", "-verify", try folder.write("key.pem", publicKey.utf8), "-signature",
            try folder.write("signature", SigningTests.sequence(signature)), input: message)
        #expect(checked.status == 0, "\(checked.output)")
    }

    /// `r ‖ s` as ASN.1 has them.
    private static func sequence(_ raw: [UInt8]) -> [UInt8] {
        let numbers = [raw[..<32], raw[32...]].flatMap { half -> [UInt8] in
            var digits = Array(half.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }

    @Test func `payload bytes are signed as they are`() throws {
        let payload = Array(#"{ "b":1,  "a" : [ ] }"#.utf8)
        let jws = String(
            decoding: try NotificationSigner(try SigningTests.pki.get()).sign(bytes: payload), as: UTF8.self)
        #expect(jws.split(separator: ".")[1] == Base64.encodeURL(payload))
    }

    @Test(arguments: [SigningKey.Curve.p256, .p384])
    func `a key survives its text`(curve: SigningKey.Curve) throws {
        let key = try SigningKey.generate(curve)
        let read = try SigningKey(pem: try key.pem())
        #expect(read.publicKey() == key.publicKey() && read.curve == curve)
        #expect(throws: IssuingError.self) {
            try SigningKey(pem: "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----")
        }
        #expect(throws: IssuingError.self) { try SigningKey(pem: "no key") }
    }

    @Test func `ES256 is refused on another curve`() throws {
        #expect(throws: IssuingError.self) { try SigningKey.generate(.p384).signES256([1]) }
    }

    @Test func `a notification about a subscription is about as large as Apple's`() throws {
        let signer = NotificationSigner(try SigningTests.pki.get())
        var life = SubscriberLife(seed: 1)
        let size = try signer.sign(life.start(at: testNow)).body.count
        #expect((16_500...20_000).contains(size), "\(size) bytes")
        var notices = StoreNotices(seed: 1)
        let small = try signer.sign(notices.test(at: testNow)).body.count
        #expect((4_000...5_500).contains(small), "\(small) bytes")
    }
}
