import Base
import Crypto
import TestSupport
import Testing

@testable import AppStore

@Suite(.enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"))
struct SignedDataVerifierTests {
    private let pki = TestPKI.shared
    private let payload = SampleData.transaction()

    private func reason(_ jws: [UInt8], at date: Int64? = nil) -> VerificationFailure.Reason? {
        SignedDataVerifier(trust: pki.trust).verify(jws, at: date).failure?.reason
    }

    @Test func `genuine data gives its payload, certificates and date`() throws {
        let jws = pki.sign(payload)
        let verified = try SignedDataVerifier(trust: pki.trust).verify(jws).get()
        #expect(verified.payload == payload.bytes)
        #expect(verified.signedDate == payload["signedDate"]?.intValue)
        #expect(verified.header == Array(jws.prefix { $0 != UInt8(ascii: ".") }))
        #expect(verified.signature.count == 64)
        let subjects = verified.certificates.map(\.subject)
        #expect(subjects == ["Signing", "Authority", "Root"].map { "CN=Example \($0), O=Example, C=US" })
        #expect(verified.certificates[2].sha256 == Hex.encode(Digest.sha256(pki.root)))
    }

    @Test(arguments: [
        "", ".", "..", "a.b", "a.b.c", "a.b.c.d", "{}", "e30.e30", "e30.e30.!", "e30.!.AA", "W10.e30.AA", "Nw.e30.AA",
    ])
    func `what has not the form of a JWS is malformed`(text: String) {
        #expect(reason(Array(text.utf8)) == .malformedJWS)
    }

    @Test(arguments: [
        (#"{"x5c":[]}"#, VerificationFailure.Reason.unsupportedAlgorithm),
        (#"{"alg":null,"x5c":[]}"#, .unsupportedAlgorithm),
        (#"{"alg":"none"}"#, .unsupportedAlgorithm), (#"{"alg":"es256","x5c":["",""]}"#, .unsupportedAlgorithm),
        (#"{"alg":"HS256","x5c":["","",""]}"#, .unsupportedAlgorithm), (#"{"alg":"ES256"}"#, .chainLength),
        (#"{"alg":"ES256","x5c":[]}"#, .chainLength), (#"{"alg":"ES256","x5c":["!","!"]}"#, .chainLength),
        (#"{"alg":"ES256","x5c":["","","",""]}"#, .chainLength),
        (#"{"alg":"ES256","x5c":["","",""]}"#, .malformedCertificate),
        (#"{"alg":"ES256","x5c":"MII"}"#, .malformedJWS), (#"{"alg":"ES256","x5c":["",1,""]}"#, .malformedJWS),
        (#"{"alg":"ES256""#, .malformedJWS), ("\u{feff}{}", .malformedJWS),
    ])
    func `a header is refused for the first thing that is wrong with it`(
        header: String, expected: VerificationFailure.Reason
    ) {
        #expect(reason(Array("\(Base64.encodeURL(header.utf8)).e30.AA".utf8)) == expected)
    }

    @Test func `a header larger than any genuine one is not even decoded`() {
        let header = Base64.encodeURL(
            Array(#"{"alg":"ES256","x5c":[],"x":""#.utf8) + Array(repeating: 97, count: 65536))
        #expect(reason(Array("\(header).e30.AA".utf8)) == .malformedJWS)
    }

    @Test func `any of the three may be what is no certificate`() {
        for index in 0..<3 {
            for bad in [[], Array("abc".utf8), pki.chain[index] + [0], Array(pki.chain[index].dropLast())] {
                var chain = pki.chain
                chain[index] = bad
                #expect(reason(pki.sign(payload, chain: chain)) == .malformedCertificate)
            }
        }
        // Before the root: the order of the reasons is contract.
        #expect(
            reason(pki.sign(payload, chain: [[], pki.intermediate, TestPKI.stranger.root])) == .malformedCertificate)
        let texts = JSON.strings(pki.chain.map { Base64.encode($0).replacing("=", with: "") + "a" })
        #expect(reason(pki.sign(payload, header: .object(["alg": "ES256", "x5c": texts]))) == .malformedCertificate)
    }

    @Test func `flawed chains are refused, each for its own reason`() {
        let cases: [(VerificationFailure.Reason, TestPKI)] = [
            (.missingLeafOID, pki.variant { $0.leafMarker = false }),
            (.missingIntermediateOID, pki.variant { $0.intermediateMarker = false }),
            (.missingIntermediateOID, pki.variant { ($0.intermediateMarker, $0.leafMarker) = (false, false) }),
            (.badChain, pki.variant { $0.intermediateIsAuthority = false }),
            (.badChain, pki.variant { $0.leafKey = "rsa" }),
            (.badChain, pki.variant { $0.leafKey = "secp384r1" }),
            (.badChain, pki.variant { $0.leafExtension = "1.2.3.4=critical,ASN1:NULL" }),
            (.badChain, pki.variant { $0.leafIsIssuedByRoot = true }),
            (.badChain, pki.variant { $0.intermediateDigest = "sha1" }),
        ]
        for (expected, flawed) in cases {
            #expect(reason(flawed.sign(payload)) == expected)
        }
    }

    @Test func `the root that was sent is not trusted by itself`() {
        let stranger = TestPKI.stranger
        let own = SignedDataVerifier(trust: pki.trustByFile)
        #expect(reason(stranger.sign(payload)) == .untrustedRoot)
        #expect(own.verify(stranger.sign(payload)).failure?.reason == .untrustedRoot)
        let mixed = [stranger.leaf, stranger.intermediate, pki.root]
        #expect(reason(stranger.sign(payload, chain: mixed)) == .badChain)
        #expect(own.verify(stranger.sign(payload, chain: mixed)).failure?.reason == .badChain)
        #expect(SignedDataVerifier(trust: TrustAnchors()).verify(pki.sign(payload)).failure?.reason == .untrustedRoot)
        #expect(SignedDataVerifier(trust: .apple).verify(pki.sign(payload)).failure?.reason == .untrustedRoot)
    }

    @Test func `certificates in another order are refused`() {
        let (leaf, intermediate, root) = (pki.leaf, pki.intermediate, pki.root)
        let orders: [([[UInt8]], VerificationFailure.Reason)] = [
            ([intermediate, leaf, root], .missingIntermediateOID), ([leaf, root, intermediate], .untrustedRoot),
            ([leaf, leaf, leaf], .untrustedRoot), ([root, root, root], .missingIntermediateOID),
            ([leaf, leaf, root], .missingIntermediateOID), ([intermediate, intermediate, root], .missingLeafOID),
        ]
        for (chain, expected) in orders {
            #expect(reason(pki.sign(payload, chain: chain)) == expected)
        }
    }

    @Test func `a configured root stands for another certificate of its name and key, a fingerprint does not`() throws {
        let jws = pki.sign(payload, chain: [pki.leaf, pki.intermediate, pki.renewedRoot])
        let verified = try SignedDataVerifier(trust: pki.trustByFile).verify(jws).get()
        #expect(verified.certificates[2].sha256 == Hex.encode(Digest.sha256(pki.root)))
        #expect(reason(jws) == .untrustedRoot)
    }

    @Test func `all certificates must be valid at the date`() {
        let jws = pki.sign(payload)
        let now = SampleData.now
        #expect(reason(jws, at: now + SampleData.year) == nil)
        for years in [Int64(-1), 2, 9, 30] {
            #expect(reason(jws, at: now + years * SampleData.year) == .certificateNotValidAtDate)
        }
        for date in [Int64.min, Int64.max] {
            #expect(reason(jws, at: date) == .certificateNotValidAtDate)
        }
    }

    @Test func `the date is that of signing, and now where there is none`() {
        let now = SampleData.now
        let late = ManualClock(now + 2 * SampleData.year)
        let verifier = SignedDataVerifier(trust: pki.trust, clock: late)
        let cases: [(String, VerificationFailure.Reason?)] = [
            (#"{"signedDate":\#(now)}"#, nil), (#"{"signedDate":\#(now).75}"#, nil),
            (#"{"receiptCreationDate":\#(now)}"#, nil), ("{}", .certificateNotValidAtDate),
            (#"{"signedDate":"\#(now)"}"#, .certificateNotValidAtDate),
            (#"{"signedDate":1e300}"#, .certificateNotValidAtDate),
            (#"{"signedDate":null}"#, .certificateNotValidAtDate),
            (#"{"signedDate":-62135769600000}"#, .certificateNotValidAtDate),
        ]
        for (payload, expected) in cases {
            #expect(verifier.verify(pki.sign(Array(payload.utf8))).failure?.reason == expected, "\(payload)")
        }
    }

    @Test(arguments: ["", "[]", "7", "not json", "\"text\"", "{", "{}x", "null", "\u{feff}{}"])
    func `what is signed but no object is a malformed payload`(text: String) {
        #expect(reason(pki.sign(Array(text.utf8))) == .malformedPayload)
    }

    @Test func `a payload must be UTF-8`() {
        let wide = Array(#"{"signedDate":1}"#.utf8).flatMap { byte -> [UInt8] in [byte, 0] }
        let invalid = Array(#"{"x":""#.utf8) + [0xff] + Array(#""}"#.utf8)
        for bytes in [wide, [0xff, 0xfe] + wide, invalid] {
            #expect(reason(pki.sign(bytes)) == .malformedPayload)
        }
    }

    @Test func `a signature is good for its own bytes only`() {
        let jws = pki.sign(payload)
        let parts = jws.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false).map(Array.init)
        let signature = Base64.decodeURL(parts[2]) ?? []
        let changed: [[UInt8]] = [
            [], Array(signature.dropLast()), signature + [0], Array(repeating: 0, count: 64),
            signature.suffix(32) + signature.prefix(32), Array(repeating: 0, count: 32) + signature.suffix(32),
            signature.prefix(32) + Array(repeating: 0, count: 32), Array(repeating: 0xff, count: 64),
        ]
        for bytes in changed {
            let forged = parts[0] + [46] + parts[1] + [46] + Array(Base64.encodeURL(bytes).utf8)
            #expect(reason(forged) == .badSignature)
        }
        let other = Array(Base64.encodeURL(SampleData.transaction(bundle: "com.example.other").bytes).utf8)
        #expect(reason(parts[0] + [46] + other + [46] + parts[2]) == .badSignature)
    }
}
