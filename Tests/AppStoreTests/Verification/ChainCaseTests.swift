import Base
import Crypto
import TestSupport
import Testing

@testable import AppStore

/// Chains that are almost right.
struct ChainCaseTests {
    private typealias Reason = VerificationFailure.Reason

    /// The answers with the root trusted by fingerprint and by file, which must be the same.
    private func reason(_ chain: MintedChain, _ jws: [UInt8], now: Int64 = MintedChain.date) -> Reason? {
        let answers = [chain.trust, chain.trustByFile].map {
            SignedDataVerifier(trust: $0, clock: ManualClock(now)).verify(jws).failure?.reason
        }
        #expect(answers[0] == answers[1])
        return answers[0]
    }

    @Test func `a minted chain is as good as Apple's`() throws {
        let chain = try MintedChain()
        #expect(reason(chain, try chain.sign()) == nil)
    }

    @Test func `each flaw of a chain has its reason`() throws {
        let cases: [(String, Reason, (inout MintedChain.Plan) -> Void)] = [
            ("another leaf OID", .missingLeafOID, { $0.leafMarkers = ["1.2.840.113635.100.6.11.2"] }),
            ("a longer leaf OID", .missingLeafOID, { $0.leafMarkers = ["1.2.840.113635.100.6.11.1.1"] }),
            ("the other's OID", .missingLeafOID, { $0.leafMarkers = [MintedChain.intermediateMarker] }),
            (
                "another intermediate OID", .missingIntermediateOID,
                { $0.intermediateMarkers = ["1.2.840.113635.100.6.2.2"] }
            ),
            ("no intermediate OID", .missingIntermediateOID, { $0.intermediateMarkers = [] }),
            (
                "an intermediate that is no authority", .badChain,
                { ($0.intermediateIsAuthority, $0.intermediatePathLength) = (false, nil) }
            ),
            ("a root that allows no intermediate", .badChain, { $0.rootPathLength = 0 }),
            ("a fourth certificate in the path", .badChain, { $0.hasMiddle = true }),
            (
                "a fourth certificate that is allowed", .badChain,
                { ($0.hasMiddle, $0.intermediatePathLength) = (true, 1) }
            ),
            ("a leaf on P-384", .badChain, { $0.leafCurve = .p384 }),
            ("a leaf that signs itself", .badChain, { $0.leafSignsItself = true }),
        ]
        for (name, expected, change) in cases {
            let chain = try MintedChain(change)
            #expect(reason(chain, try chain.sign()) == expected, "\(name)")
        }
    }

    @Test func `a path of four is refused however it is sent`() throws {
        let chain = try MintedChain { ($0.hasMiddle, $0.intermediatePathLength) = (true, 1) }
        let (leaf, middle, root) = (chain.certificates[0], chain.certificates[1], chain.certificates[2])
        for (certificates, expected) in [
            ([leaf, middle, chain.upper, root], Reason.chainLength), ([leaf, middle, chain.upper], .untrustedRoot),
            ([leaf, chain.upper, root], .badChain), ([middle, chain.upper, root], .missingLeafOID),
        ] {
            let jws = try chain.sign(header: MintedChain.header(certificates.map { Base64.encode($0) }))
            #expect(reason(chain, jws) == expected)
        }
    }

    @Test func `an authority that is no root is no anchor, even if it was configured as one`() throws {
        let chain = try MintedChain { ($0.hasMiddle, $0.intermediatePathLength) = (true, 1) }
        let certificates = [chain.certificates[0], chain.certificates[1], chain.upper]
        let jws = try chain.sign(header: MintedChain.header(certificates.map { Base64.encode($0) }))
        let trust = TrustAnchors(fingerprints: [Digest.sha256(chain.upper)])
        #expect(SignedDataVerifier(trust: trust).verify(jws).failure?.reason == .badChain)
    }

    @Test(arguments: [0, 1, 2, 4, 5, 40])
    func `there are exactly three certificates`(count: Int) throws {
        let chain = try MintedChain()
        let texts = (0..<count).map { Base64.encode(chain.certificates[min($0, 2)]) }
        #expect(reason(chain, try chain.sign(header: MintedChain.header(texts))) == .chainLength)
    }

    @Test func `another root of the same name is not trusted, with and without the genuine intermediate`() throws {
        let (chain, stranger) = (try MintedChain(), try MintedChain())
        #expect(reason(chain, try stranger.sign()) == .untrustedRoot)
        let mixed = [stranger.certificates[0], stranger.certificates[1], chain.certificates[2]]
        #expect(
            reason(chain, try stranger.sign(header: MintedChain.header(mixed.map { Base64.encode($0) }))) == .badChain)
        let below = [stranger.certificates[0], chain.certificates[1], chain.certificates[2]]
        #expect(
            reason(chain, try stranger.sign(header: MintedChain.header(below.map { Base64.encode($0) }))) == .badChain)
        // The genuine intermediate is known by now: the leaf below it still has to be its own.
        let verifier = SignedDataVerifier(trust: chain.trust)
        #expect(verifier.verify(try chain.sign()).failure == nil)
        let forged = try stranger.sign(header: MintedChain.header(below.map { Base64.encode($0) }))
        #expect(verifier.verify(forged).failure?.reason == .badChain)
        let genuineLeaf = try stranger.sign(header: chain.header)
        #expect(verifier.verify(genuineLeaf).failure?.reason == .badSignature)
    }

    @Test func `swapped certificates are refused`() throws {
        let chain = try MintedChain()
        let orders: [([Int], Reason)] = [
            ([1, 0, 2], .missingIntermediateOID), ([0, 2, 1], .untrustedRoot), ([2, 1, 0], .untrustedRoot),
            ([2, 0, 1], .untrustedRoot), ([1, 2, 0], .untrustedRoot), ([0, 0, 2], .missingIntermediateOID),
            ([1, 1, 2], .missingLeafOID), ([0, 1, 1], .untrustedRoot), ([2, 1, 2], .missingLeafOID),
        ]
        for (order, expected) in orders {
            let header = MintedChain.header(order.map { Base64.encode(chain.certificates[$0]) })
            #expect(reason(chain, try chain.sign(header: header)) == expected, "\(order)")
        }
    }

    /// The first and the last millisecond of each certificate's life, and those beside them.
    @Test func `each certificate must be valid when the data was signed`() throws {
        let (date, day) = (MintedChain.date, MintedChain.day)
        let plans: [(inout MintedChain.Plan) -> Void] = [
            { $0.leafDays = -10..<10 }, { $0.intermediateDays = -10..<10 }, { $0.rootDays = -10..<10 },
        ]
        for change in plans {
            let chain = try MintedChain(change)
            let edges: [(Int64, Reason?)] = [
                (date - 10 * day - 1, .certificateNotValidAtDate), (date - 10 * day, nil),
                (date + 10 * day - 1, nil), (date + 10 * day, .certificateNotValidAtDate),
            ]
            for (signed, expected) in edges {
                let jws = try chain.sign(MintedChain.payload(signedDate: signed))
                // What the clock says does not matter.
                #expect(reason(chain, jws, now: date + 100_000 * day) == expected)
            }
        }
    }

    @Test func `without a date of signing the chain must be valid now`() throws {
        let chain = try MintedChain()
        let jws = try chain.sign(MintedChain.payload(signedDate: nil))
        #expect(reason(chain, jws, now: MintedChain.date) == nil)
        #expect(reason(chain, jws, now: MintedChain.date + 300 * MintedChain.day) == .certificateNotValidAtDate)
        #expect(reason(chain, jws, now: MintedChain.date - 101 * MintedChain.day) == .certificateNotValidAtDate)
    }

    @Test func `certificates are written in the one way that base64 has`() throws {
        let chain = try MintedChain()
        let texts = chain.certificates.map { Base64.encode($0) }
        let changes: [(String, (String) -> String)] = [
            ("line breaks", { $0.prefix(64) + "\n" + $0.dropFirst(64) }), ("a final line break", { $0 + "\n" }),
            ("spaces", { " " + $0 }),
            ("no padding or too much", { $0.hasSuffix("=") ? $0.replacing("=", with: "") : $0 + "=" }),
            ("armour", { "-----BEGIN CERTIFICATE-----\n\($0)\n-----END CERTIFICATE-----" }),
            ("nothing", { _ in "" }), ("half", { String($0.prefix(400)) }),
            ("base64url", { $0.replacing("+", with: "-").replacing("/", with: "_") + "----" }),
        ]
        for (name, change) in changes {
            for index in 0..<3 {
                var changed = texts
                changed[index] = change(changed[index])
                let jws = try chain.sign(header: MintedChain.header(changed))
                #expect(reason(chain, jws) == .malformedCertificate, "\(name) in \(index)")
            }
        }
    }

    @Test func `nothing stands behind a certificate, and it is in DER`() throws {
        let chain = try MintedChain()
        for index in 0..<3 {
            let der = chain.certificates[index]
            let (size, rest) = (Array(der[2..<4]), Array(der[4...]))
            let spellings: [[UInt8]] = [
                der + [0], der + der, [0x30, 0x83, 0] + size + rest, [0x30, 0x80] + rest + [0, 0],
            ]
            for changed in spellings {
                var certificates = chain.certificates
                certificates[index] = changed
                let jws = try chain.sign(header: MintedChain.header(certificates.map { Base64.encode($0) }))
                #expect(reason(chain, jws) == .malformedCertificate)
            }
        }
    }

    /// Made by the `openssl` program: no extension that is critical and unknown is passed over, Apple's included.
    @Test(.enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"))
    func `markers that are critical make no valid path`() {
        let pki = TestPKI.shared
        let leaf = pki.variant {
            ($0.leafMarker, $0.leafExtension) = (false, "\(MintedChain.leafMarker)=critical,ASN1:NULL")
        }
        let intermediate = pki.variant {
            $0.intermediateMarker = false
            $0.intermediateExtension = "\(MintedChain.intermediateMarker)=critical,ASN1:NULL"
        }
        for flawed in [leaf, intermediate] {
            let jws = flawed.sign(SampleData.transaction())
            #expect(SignedDataVerifier(trust: pki.trust).verify(jws).failure?.reason == .badChain)
        }
    }
}
