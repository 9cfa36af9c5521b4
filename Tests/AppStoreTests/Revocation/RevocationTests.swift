import Base
import Crypto
import Foundation
import TestSupport
import Testing

@testable import AppStore

/// What is known about a revoked certificate, and what it changes for data that it signed.
@Suite(.enabled(if: TestPKI.isAvailable, "skipped: no openssl program"))
struct RevocationTests {
    private static let pki = TestPKI.withResponder()
    private static let revokedInJanuary = "R 260101000000Z"
    private static let january: Int64 = 1_767_225_600_000
    private static let day = Duration.seconds(86_400)

    private let pki = RevocationTests.pki
    private let start = SystemClock().now()
    private let clock: ManualClock
    private let cache: RevocationCache

    init() {
        clock = ManualClock(start)
        cache = RevocationCache(longestRetry: .seconds(120), clock: clock, chance: { 0.5 })
    }

    private func verifier(_ mode: RevocationMode, _ other: TestPKI? = nil) -> SignedDataVerifier {
        SignedDataVerifier(
            trust: (other ?? pki).trust, clock: clock,
            revocation: mode == .off ? nil : RevocationPolicy(cache: cache, requiresAnswer: mode == .hard))
    }

    private func signed(at date: Int64? = nil, _ other: TestPKI? = nil) -> [UInt8] {
        (other ?? pki).sign(.object(["signedDate": .int(date ?? start)]))
    }

    /// Asks about all that is due, with this answer; the reports.
    @discardableResult
    private func ask(_ record: String?, lifetime: Int = 600) -> [RevocationReport] {
        cache.takeDue().compactMap { cache.finish($0, pki.statusAnswer(to: $0.body, record, lifetime: lifetime)) }
    }

    private func reason(_ result: Result<VerifiedJWS, VerificationFailure>) -> VerificationFailure.Reason? {
        result.failure?.reason
    }

    // MARK: - Soft

    @Test func `what is not known refuses nothing, and is asked once at a time`() {
        #expect(reason(verifier(.soft).verify(signed())) == nil)
        let due = cache.takeDue()
        #expect(due.map(\.url) == [TestPKI.statusURL])
        #expect(due.map(\.fingerprint) == [Hex.encode(Digest.sha256(pki.leaf))])
        #expect(cache.takeDue().isEmpty)
        #expect(cache.pause() == nil)
        #expect(cache.census() == [.unanswered: 1, .notAsked: 1])
    }

    @Test func `a revoked certificate refuses, in a known chain too, and after its answer has ended`() throws {
        let verifier = verifier(.soft)
        let jws = signed()
        #expect(reason(verifier.verify(jws)) == nil)
        #expect(ask(RevocationTests.revokedInJanuary).map(\.outcome.label) == ["revoked"])
        let failure = try #require(verifier.verify(jws).failure)
        #expect(failure.reason == .certificateRevoked)
        #expect(failure.detail == "the signing certificate is revoked since 2026-01-01T00:00:00Z")
        clock.advance(by: RevocationTests.day)
        #expect(reason(verifier.verify(jws)) == .certificateRevoked)
        #expect(cache.census()[.revoked] == 1)
    }

    @Test func `a revocation that is taken back lets pass again`() {
        let verifier = verifier(.soft)
        let jws = signed()
        _ = verifier.verify(jws)
        ask("R 260101000000Z,certificateHold")
        #expect(reason(verifier.verify(jws)) == .certificateRevoked)
        clock.advance(by: .seconds(6 * 3600))
        #expect(ask("V").map(\.after) == [.good])
        #expect(reason(verifier.verify(jws)) == nil)
    }

    @Test func `an answer that ends makes nobody wait where none is required`() {
        let verifier = verifier(.soft)
        _ = verifier.verify(signed())
        ask("V", lifetime: 60)
        #expect(cache.census()[.good] == 1)
        clock.advance(by: RevocationTests.day)
        #expect(cache.census()[.unanswered] == 1)
        #expect(reason(verifier.verify(signed())) == nil)
    }

    // MARK: - Hard

    @Test func `where an answer is required, nothing but a fresh good one lets pass`() {
        let verifier = verifier(.hard)
        let jws = signed()
        #expect(reason(verifier.verify(jws)) == .revocationUnknown)
        #expect(cache.takeDue().compactMap { cache.finish($0, nil) }.map(\.outcome.label) == ["no_answer"])
        #expect(reason(verifier.verify(jws)) == .revocationUnknown)
        clock.advance(by: .seconds(60))
        #expect(ask(nil).map(\.outcome.label) == ["unknown"])
        #expect(reason(verifier.verify(jws)) == .revocationUnknown)
        clock.advance(by: .seconds(120))
        ask("V", lifetime: 60)
        #expect(reason(verifier.verify(jws)) == nil)
        // Its end, and the leeway for clocks that differ.
        clock.advance(by: .seconds(4000))
        #expect(reason(verifier.verify(jws)) == .revocationUnknown)
        ask(RevocationTests.revokedInJanuary)
        #expect(reason(verifier.verify(jws)) == .certificateRevoked)
    }

    @Test func `a chain that names no responder passes, because there is nobody to ask`() {
        #expect(reason(verifier(.hard, .shared).verify(signed(.shared))) == nil)
        #expect(cache.takeDue().isEmpty)
        #expect(cache.census() == [.notAsked: 2])
    }

    private func signed(_ other: TestPKI) -> [UInt8] { signed(at: nil, other) }

    // MARK: - History

    @Test func `what an expired certificate signed needs no answer, and nobody is asked about it`() {
        clock.advance(by: .seconds(401 * 86_400))
        #expect(reason(verifier(.hard).verify(signed())) == nil)
        #expect(cache.takeDue().isEmpty)
    }

    @Test(arguments: [
        ("superseded", -1, true), ("superseded", 1, false), ("cessationOfOperation", -1, true),
        ("keyCompromise", -1, false), ("", -1, false),
    ])
    func `history is judged by what was known last`(name: String, offset: Int64, passes: Bool) {
        let verifier = verifier(.hard)
        // In an hour, so that what is signed at either side of it lies inside the certificate's time.
        let date = start / 1000 * 1000 + 3_600_000
        let text = Timestamp.text(date).filter(\.isNumber).dropFirst(2) + "Z"
        let jws = signed(at: date + offset * 60_000)
        _ = verifier.verify(jws)
        ask("R \(text)\(name.isEmpty ? "" : ",\(name)")")
        #expect(reason(verifier.verify(jws)) == .certificateRevoked)
        clock.advance(by: .seconds(401 * 86_400))
        #expect(reason(verifier.verify(jws)) == (passes ? nil : .certificateRevoked))
    }

    // MARK: - What is kept

    @Test func `what was known is known after a restart, also of a certificate that has expired since`() throws {
        let jws = signed()
        _ = verifier(.soft).verify(jws)
        ask(RevocationTests.revokedInJanuary)
        let kept = try #require(RevocationCacheFile.decode(RevocationCacheFile.encode(cache.answers())))
        #expect(kept == cache.answers() && !kept.isEmpty)
        clock.advance(by: .seconds(401 * 86_400))
        func restarted(_ remembered: [[UInt8]: OCSPAnswer]) -> SignedDataVerifier {
            let cache = RevocationCache(remembered: remembered, clock: clock)
            return SignedDataVerifier(
                trust: pki.trust, clock: clock, revocation: RevocationPolicy(cache: cache, requiresAnswer: false))
        }
        #expect(reason(restarted(kept).verify(jws)) == .certificateRevoked)
        #expect(reason(restarted([:]).verify(jws)) == nil)
    }

    @Test(arguments: ["", "{", "[]", #"{"certificates":7}"#])
    func `a file of something else is no memory`(text: String) {
        #expect(RevocationCacheFile.decode(Array(text.utf8)) == nil)
    }

    @Test func `entries that make no sense are left out`() {
        let text = #"{"certificates":[7,{"certificate":"abcd"},{"certificate":"zz","this_update_ms":1}]}"#
        #expect(RevocationCacheFile.decode(Array(text.utf8)) == [:])
    }

    @Test func `a clock that was ahead does not stop the asking`() {
        _ = verifier(.soft).verify(signed())
        clock.advance(by: RevocationTests.day)
        for check in cache.takeDue() { _ = cache.finish(check, nil) }
        #expect(cache.takeDue().isEmpty)
        clock.advance(by: .seconds(-86_400))
        #expect(!cache.takeDue().isEmpty)
    }

    // MARK: - Who gets in

    @Test func `only certificates of genuine data are asked about`() {
        let verifier = verifier(.soft)
        var forged = signed()
        let (a, b) = (UInt8(ascii: "A"), UInt8(ascii: "B"))
        forged[forged.count - 8] = forged[forged.count - 8] == a ? b : a
        #expect(reason(verifier.verify(forged)) == .badSignature)
        #expect(reason(verifier.verify(signed(at: 0))) == .certificateNotValidAtDate)
        let stranger = TestPKI(name: "Stranger", flaws: .init(leafExtension: "authorityInfoAccess=OCSP;URI:http://x/"))
        #expect(reason(verifier.verify(signed(stranger))) == .untrustedRoot)
        #expect(cache.census().isEmpty)
        #expect(cache.takeDue().isEmpty)
    }

    @Test func `whoever asks is told of a new certificate, once`() {
        let told = ManualClock(0)
        cache.listen { told.advance(by: .milliseconds(1)) }
        let verifier = verifier(.soft)
        _ = verifier.verify(signed())
        _ = verifier.verify(signed())
        #expect(told.now() == 1)
    }

    @Test func `beyond its capacity the cache forgets what was seen first, and revoked ones last`() throws {
        let small = RevocationCache(capacity: 3, clock: clock, chance: { 0.5 })
        func path(_ pki: TestPKI) throws -> CertificatePath {
            CertificatePath(
                leaf: try #require(Certificate(der: pki.leaf)),
                intermediate: try #require(Certificate(der: pki.intermediate)),
                anchor: try #require(Certificate(der: pki.root)))
        }
        func see(_ pki: TestPKI) throws -> RevocationCache.Verdict {
            small.verdict(on: try path(pki), signedAt: nil, requiresAnswer: false)
        }
        _ = try see(pki)
        for check in small.takeDue() {
            _ = small.finish(check, pki.statusAnswer(to: check.body, RevocationTests.revokedInJanuary))
        }
        clock.advance(by: .seconds(120))
        #expect(try see(.shared) == .passes)
        #expect(small.census().values.reduce(0, +) == 3)
        guard case .revoked = try see(pki) else {
            Issue.record("the revoked certificate was forgotten")
            return
        }
    }
}
