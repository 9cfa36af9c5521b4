import Base
import Crypto
import Dispatch
import Synchronization
import Testing

@testable import AppStore

@Suite(.enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"))
struct ChainCacheTests {
    private let pki = TestPKI.shared

    @Test func `a chain is kept once its first signature was good`() {
        let verifier = SignedDataVerifier(trust: pki.trust)
        #expect(verifier.knownChains == 0)
        for _ in 0..<3 {
            #expect(verifier.verify(pki.sign(SampleData.transaction())).failure == nil)
        }
        #expect(verifier.knownChains == 1)
    }

    @Test func `genuine certificates under a bad signature do not get in`() {
        let verifier = SignedDataVerifier(trust: pki.trust)
        for serial in 0..<100 {
            let header = JSON.object(["alg": "ES256", "kid": .int(Int64(serial)), "x5c": TestPKI.x5c(pki.chain)])
            let forged = "\(Base64.encodeURL(header.bytes)).e30.\(Base64.encodeURL(Array(repeating: 9, count: 64)))"
            #expect(verifier.verify(Array(forged.utf8)).failure?.reason == .badSignature)
        }
        #expect(verifier.knownChains == 0)
    }

    @Test func `it never holds more than its capacity, and the newest stay`() throws {
        let verified = try #require(chain())
        let cache = ChainCache(capacity: 4)
        for serial in 0..<10 {
            cache.insert(verified, forHeader: ArraySlice([UInt8(serial)]))
            cache.insert(verified, forHeader: ArraySlice([UInt8(serial)]))
        }
        #expect(cache.count == 4)
        #expect((0..<10).map { cache.chain(forHeader: [UInt8($0)]) != nil } == (0..<10).map { $0 >= 6 })
        #expect(cache.chain(leaf: pki.leaf, intermediate: pki.intermediate, root: pki.root) != nil)
        #expect(cache.chain(leaf: pki.leaf, intermediate: pki.intermediate, root: pki.renewedRoot) == nil)
    }

    @Test func `a known chain still has to be valid at the date`() {
        let verifier = SignedDataVerifier(trust: pki.trust)
        let jws = pki.sign(SampleData.transaction())
        let now = SampleData.now
        for _ in 0..<2 {
            #expect(verifier.verify(jws, at: now).failure == nil)
            for date in [now - SampleData.year, now + 2 * SampleData.year, .min, .max] {
                #expect(verifier.verify(jws, at: date).failure?.reason == .certificateNotValidAtDate)
            }
        }
    }

    @Test func `a known chain does not vouch for another payload, leaf or spelling`() {
        let verifier = SignedDataVerifier(trust: pki.trust)
        let jws = pki.sign(SampleData.transaction())
        #expect(verifier.verify(jws).failure == nil)
        let renewed = pki.variant { $0.leafDays = 500 }
        // The intermediate of `renewed` is not the one that issued this leaf.
        let forged = renewed.sign(SampleData.transaction(), chain: [renewed.leaf, pki.intermediate, pki.root])
        #expect(verifier.verify(forged).failure?.reason == .badChain)
        #expect(
            verifier.verify(renewed.sign(SampleData.transaction(), chain: pki.chain)).failure?.reason == .badSignature)
        #expect(verifier.verify(renewed.sign(SampleData.transaction())).failure == nil)
        let respelled = JSON.object(["x5c": TestPKI.x5c(pki.chain), "alg": "ES256"])
        #expect(verifier.verify(pki.sign(SampleData.transaction(), header: respelled)).failure == nil)
        let wrong = JSON.object(["x5c": TestPKI.x5c(pki.chain), "alg": "ES384"])
        #expect(
            verifier.verify(pki.sign(SampleData.transaction(), header: wrong)).failure?.reason == .unsupportedAlgorithm)
    }

    @Test func `many threads verify at once, and agree`() {
        let verifier = SignedDataVerifier(trust: pki.trust)
        let good = pki.sign(SampleData.transaction())
        let bad = TestPKI.stranger.sign(SampleData.transaction())
        let wrong = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: 200) { index in
            let expected: VerificationFailure.Reason? = index % 2 == 0 ? nil : .untrustedRoot
            if verifier.verify(index % 2 == 0 ? good : bad).failure?.reason != expected {
                wrong.withLock { $0 += 1 }
            }
        }
        #expect(wrong.withLock { $0 } == 0)
        #expect(verifier.knownChains == 1)
    }

    private func chain() -> VerifiedChain? {
        guard let leaf = Certificate(der: pki.leaf), let intermediate = Certificate(der: pki.intermediate),
            let root = Certificate(der: pki.root), let key = leaf.verificationKey
        else { return nil }
        let path = CertificatePath(leaf: leaf, intermediate: intermediate, anchor: root)
        return VerifiedChain(path: path, sentRoot: root.der, key: key)
    }
}
