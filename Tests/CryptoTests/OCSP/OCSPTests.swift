import Base
import Crypto
import Foundation
import Testing

/// Questions and answers about the status of a certificate, with the responder of the `openssl` program.
@Suite(.enabled(if: StatusAuthority.isAvailable, "skipped: no openssl program"))
struct OCSPTests {
    private let authority = StatusAuthority.shared
    private let leaf: Certificate
    private let issuer: Certificate
    private let request: [UInt8]
    private let now = SystemClock().now()

    init() throws {
        leaf = try authority.certificate("leaf")
        issuer = try authority.certificate("issuer")
        request = try #require(OCSPRequest(about: leaf, issuedBy: issuer)).der
    }

    private func read(_ der: [UInt8], after: Duration = .zero) -> Result<OCSPAnswer, OCSPFailure> {
        OCSPResponse.read(der, about: leaf, issuedBy: issuer, at: now + after.milliseconds, leeway: 300_000)
    }

    private func failure(_ der: [UInt8], after: Duration = .zero) -> OCSPFailure? {
        if case .failure(let failure) = read(der, after: after) { failure } else { nil }
    }

    @Test func `the responder is the first location that is asked by HTTP`() throws {
        #expect(leaf.ocspResponder == StatusAuthority.url)
        #expect(issuer.ocspResponder == nil)
    }

    @Test func `a good answer says until when it counts`() throws {
        let answer = try read(try authority.answer(to: request, .good)).get()
        #expect(answer.status == .good)
        #expect(abs(answer.thisUpdate - now) < 60_000)
        #expect(answer.nextUpdate - answer.thisUpdate == 3_600_000)
    }

    @Test func `the issuer may answer for itself, with its certificate or without`() throws {
        #expect(try read(try authority.answer(to: request, .good, by: "issuer")).get().status == .good)
        let bare = try authority.answer(to: request, .good, by: "issuer", ["-resp_no_certs"])
        #expect(try read(bare).get().status == .good)
    }

    @Test(
        arguments: [
            (nil, nil, false), ("keyCompromise", 1, false), ("affiliationChanged", 3, true), ("superseded", 4, true),
            ("cessationOfOperation", 5, true), ("certificateHold", 6, false),
        ] as [(String?, Int?, Bool)])
    func `a revoked certificate comes with date and reason`(name: String?, number: Int?, leaves: Bool) throws {
        let answer = try read(try authority.answer(to: request, .revoked(name))).get()
        let expected = OCSPAnswer.Revocation(date: StatusAuthority.revocationDate * 1000, reason: number)
        #expect(answer.status == .revoked(expected))
        #expect(expected.leavesOlderSignatures == leaves)
    }

    @Test func `a responder that does not know the certificate says so`() throws {
        #expect(try read(try authority.answer(to: request, .unknown)).get().status == .unknown)
    }

    @Test(arguments: ["unfit", "uncle", "impostor", "stranger", "leaf"])
    func `an answer by somebody whom the issuer did not certify for it is refused`(signer: String) throws {
        #expect(failure(try authority.answer(to: request, .good, by: signer)) == .untrusted)
    }

    @Test func `an answer whose signer cannot be found is refused`() throws {
        #expect(failure(try authority.answer(to: request, .good, ["-resp_no_certs"])) == .untrusted)
    }

    @Test func `an answer signed by SHA-1 is refused`() throws {
        #expect(failure(try authority.answer(to: request, .good, ["-rmd", "sha1"])) == .untrusted)
        #expect(failure(try authority.answer(to: request, .good, ["-rmd", "sha384"])) == nil)
    }

    @Test func `an answer counts no more when the certificate of its signer has expired`() throws {
        let brief = try authority.answer(to: request, .good, by: "brief", lifetime: 3 * 24 * 60)
        #expect(failure(brief) == nil)
        #expect(failure(brief, after: .seconds(2 * 86400)) == .untrusted)
        let lasting = try authority.answer(to: request, .good, lifetime: 3 * 24 * 60)
        #expect(failure(lasting, after: .seconds(2 * 86400)) == nil)
    }

    @Test func `an answer about another certificate is none`() throws {
        let other = try #require(OCSPRequest(about: try authority.certificate("other"), issuedBy: issuer)).der
        #expect(failure(try authority.answer(to: other, .good)) == .otherCertificate)
    }

    @Test func `an answer counts from its beginning to its end, give or take the leeway`() throws {
        let answer = try authority.answer(to: request, .good)
        #expect(failure(answer, after: .seconds(64 * 60)) == nil)
        #expect(failure(answer, after: .seconds(67 * 60)) == .stale)
        // Not earlier: the certificates are not valid then.
        let signed = try read(answer).get().thisUpdate
        let early = OCSPResponse.read(answer, about: leaf, issuedBy: issuer, at: signed, leeway: -1000)
        #expect(early == .failure(.notYetValid))
    }

    @Test func `an answer without an end is refused`() throws {
        #expect(failure(try authority.answer(to: request, .good, lifetime: nil)) == .stale)
    }

    @Test(arguments: [1, 2, 3, 5, 6])
    func `a responder that cannot answer is told from one that sends rubbish`(status: UInt8) {
        #expect(failure([0x30, 0x03, 0x0a, 0x01, status]) == .refused)
    }

    @Test func `what is no response is refused`() throws {
        let answer = try authority.answer(to: request, .good)
        #expect(failure([]) == .malformed)
        #expect(failure(answer + [0]) == .malformed)
        #expect(failure(Array(repeating: 0x30, count: OCSPResponse.maximumSize + 1)) == .malformed)
        for length in 0..<answer.count {
            #expect(failure(Array(answer.prefix(length))) == .malformed, "\(length) bytes")
        }
    }

    @Test func `no changed byte changes the answer`() throws {
        let der = try authority.answer(to: request, .revoked("keyCompromise"))
        let answer = try read(der).get()
        for index in der.indices {
            var changed = der
            changed[index] ^= 0x01
            if let other = try? read(changed).get() {
                #expect(other == answer, "byte \(index)")
            }
        }
    }
}
