import Base
import Testing

@testable import AppStore

/// Seeded, so that a failure comes again.
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    /// SplitMix64.
    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var value = state
        value = (value ^ (value >> 30)) &* 0xbf58_476d_1ce4_e5b9
        value = (value ^ (value >> 27)) &* 0x94d0_49bb_1331_11eb
        return value ^ (value >> 31)
    }
}

struct MutationTests {
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.{}\"=+/\0 ".utf8)

    /// Another byte here, a byte less or more there.
    private func mutate(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var changed = bytes
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let place = Int.random(in: 0..<max(1, changed.count), using: &random)
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where !changed.isEmpty: changed.remove(at: place)
            case 1: changed.insert(Self.alphabet.randomElement(using: &random) ?? 0, at: min(place, changed.count))
            case 2: changed.removeLast(min(changed.count, place / 8))
            case 3 where !changed.isEmpty: changed[place] = UInt8.random(in: 0...255, using: &random)
            case 4 where !changed.isEmpty: changed[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            default: if !changed.isEmpty { changed[place] = Self.alphabet.randomElement(using: &random) ?? 0 }
            }
        }
        return changed
    }

    @Test(
        .enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"), arguments: [1, 2, 3, 4] as [UInt64])
    func `nothing that was changed by a byte verifies, or stops the process`(seed: UInt64) {
        var random = SeededGenerator(state: seed)
        let pki = TestPKI.shared
        let jws = pki.sign(SampleData.transaction())
        // One verifier knows the chain from a hit, the other one never does.
        let (warm, cold) = (SignedDataVerifier(trust: pki.trust), SignedDataVerifier(trust: pki.trustByFile))
        #expect(warm.verify(jws).failure == nil)
        for round in 0..<1500 {
            let changed = mutate(jws, &random)
            guard changed != jws else { continue }
            #expect((round % 4 == 0 ? cold : warm).verify(changed).failure != nil)
        }
    }

    @Test(.enabled(if: TestPKI.isAvailable, "skipped: there is no openssl program"))
    func `a changed certificate never makes a good chain`() {
        var random = SeededGenerator(state: 5)
        let pki = TestPKI.shared
        let verifier = SignedDataVerifier(trust: pki.trust)
        let payload = Base64.encodeURL(SampleData.transaction().bytes)
        for round in 0..<1500 {
            var chain = pki.chain
            chain[round % 3] = mutate(chain[round % 3], &random)
            guard chain != pki.chain else { continue }
            let header = JSON.object(["alg": "ES256", "x5c": TestPKI.x5c(chain)])
            let signature = Base64.encodeURL(Array(repeating: 9, count: 64))
            let jws = "\(Base64.encodeURL(header.bytes)).\(payload).\(signature)"
            let reason = verifier.verify(Array(jws.utf8)).failure?.reason
            #expect(reason != nil && reason != VerificationFailure.Reason.badSignature)
        }
    }

    @Test func `changed payloads and bodies never stop the process`() {
        var random = SeededGenerator(state: 6)
        let payload = SampleData.notification([
            "bundleId": "com.example.app", "environment": "Sandbox", "appAppleId": 1, "signedTransactionInfo": "a.b.c",
        ]).bytes
        let body = JSON.object(["signedPayload": "e30.e30.AA", "other": .array([1, .null, "x"])]).bytes
        var read = 0
        for _ in 0..<5000 {
            let changed = mutate(payload, &random)
            read += NotificationPayload(payload: changed) == nil ? 0 : 1
            _ = TransactionPayload(payload: changed)
            _ = SignedDataKind.detect(changed)
            _ = RequestBody.signedPayload(in: mutate(body, &random))
        }
        #expect(read > 0 && read < 5000)
    }
}
