import Base
import Crypto
import Foundation
import TestSupport
import Testing

@testable import AppStoreAPI

struct BearerTokenTests {
    private static let now: Int64 = 1_795_000_000_000

    private static func key(_ signing: SigningKey? = nil) throws -> ServerAPIKey {
        let pem = try (signing ?? SigningKey.generate(.p256)).pem()
        return try ServerAPIKey(issuerID: "issuer", keyID: "2X9R4HXF34", pem: pem)
    }

    private static func part(_ token: String, _ index: Int) throws -> JSON {
        let parts = token.split(separator: ".")
        return try JSON(parsing: try #require(Base64.decodeURL(parts[index].utf8)))
    }

    @Test func `header and claims are what Apple wants`() throws {
        let token = try BearerToken(try BearerTokenTests.key(), bundleID: "com.example.app", now: BearerTokenTests.now)
        let head = try BearerTokenTests.part(token.text, 0)
        #expect(head["alg"]?.stringValue == "ES256" && head["typ"]?.stringValue == "JWT")
        #expect(head["kid"]?.stringValue == "2X9R4HXF34")
        let claims = try BearerTokenTests.part(token.text, 1)
        #expect(claims["iss"]?.stringValue == "issuer" && claims["bid"]?.stringValue == "com.example.app")
        #expect(claims["aud"]?.stringValue == "appstoreconnect-v1")
        let (issued, expires) = (claims["iat"]?.intValue ?? 0, claims["exp"]?.intValue ?? 0)
        #expect(issued == 1_795_000_000 - 60)
        #expect(expires - issued <= 3600 && expires > 1_795_000_000 + 600)
    }

    /// Judged by the `openssl` program, which is given the signature as DER that is put together here by hand.
    @Test func `openssl verifies the signature`() throws {
        let signing = try SigningKey.generate(.p256)
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let token = try BearerToken(try BearerTokenTests.key(signing), bundleID: "b", now: BearerTokenTests.now).text
        let end = try #require(token.lastIndex(of: "."))
        let raw = try #require(Base64.decodeURL(token[token.index(after: end)...].utf8))
        #expect(raw.count == 64)
        func number(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
            var digits = Array(bytes.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [0x02, UInt8(digits.count)] + digits
        }
        let content = number(raw[..<32]) + number(raw[32...])
        let file = { (name: String) in URL(filePath: "\(folder)/\(name)") }
        try Data([0x30, UInt8(content.count)] + content).write(to: file("signature.der"))
        try Data(PEMBlock.encode("PUBLIC KEY", signing.publicKey()).utf8).write(to: file("public.pem"))
        try Data(token[..<end].utf8).write(to: file("signed"))
        let said = try TestCommand.run([
            "/usr/bin/openssl", "dgst", "-sha256", "-verify", "\(folder)/public.pem", "-signature",
            "\(folder)/signature.der", "\(folder)/signed",
        ])
        #expect(said.contains("Verified OK"))
    }

    @Test func `a token serves until it nears its end, and not after the clock was set back`() throws {
        let ring = KeyRing([try BearerTokenTests.key()], bundleID: "b")
        let first = try ring.token(0, at: BearerTokenTests.now)
        #expect(try ring.token(0, at: BearerTokenTests.now + 10 * 60_000) == first)
        let second = try ring.token(0, at: BearerTokenTests.now + 16 * 60_000)
        #expect(second != first)
        #expect(try ring.token(0, at: BearerTokenTests.now) != second)
    }

    @Test func `another key serves for a while after the newest was refused, then the newest is tried again`() throws {
        let ring = KeyRing([try BearerTokenTests.key(), try BearerTokenTests.key()], bundleID: "b")
        let now = BearerTokenTests.now
        #expect(ring.preferred(at: now) == 0)
        #expect(ring.next(after: 0, refused: 1) == 1)
        #expect(ring.next(after: 1, refused: 2) == nil)
        #expect(ring.worked(1, at: now))
        #expect(!ring.worked(1, at: now + 1000), "told once")
        #expect(ring.preferred(at: now + 60_000) == 1)
        // The other one was refused too: the newest is next.
        #expect(ring.next(after: 1, refused: 1) == 0)
        #expect(ring.preferred(at: now + 20 * 60_000) == 0)
        #expect(!ring.worked(0, at: now + 20 * 60_000))
    }

    @Test func `a file that is no key on P-256 is told, without what is in it`() throws {
        let p384 = try SigningKey.generate(.p384).pem()
        #expect(ServerAPIKey.flaw(in: try SigningKey.generate(.p256).pem()) == nil)
        #expect(ServerAPIKey.flaw(in: "hello") == "it contains no private key")
        #expect(ServerAPIKey.flaw(in: p384)?.contains("P-384") == true)
        let broken = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"
        #expect(ServerAPIKey.flaw(in: broken)?.hasPrefix("not a private key on P-256") == true)
        #expect(ServerAPIKey.flaw(in: broken)?.contains("AAAA") == false)
    }
}
