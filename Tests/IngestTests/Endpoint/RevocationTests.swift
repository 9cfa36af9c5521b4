import AppStore
import Base
import Daemon
import Foundation
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// The endpoint with a real responder beside it.
@Suite(.enabled(if: OCSPResponder.isAvailable, "skipped: no openssl program"))
struct RevocationTests {
    @Test(arguments: [RevocationMode.soft, .hard])
    func `a good certificate passes`(mode: RevocationMode) throws {
        let responder = try OCSPResponder("V")
        let admission = try IngestFixture(mode, responder.pki)
        let first = try admission.verdict()
        #expect(first == (mode == .soft ? "accepted" : "503 unavailable"))
        try admission.wait("good")
        #expect(try admission.verdict() == "accepted")
        try admission.log.wait(for: "certificate revocation status changed")
        #expect(admission.metrics.exposition().contains("entitled_ocsp_status{status=\"good\"} 1\n"))
        #expect(admission.metrics.exposition().contains("entitled_ocsp_status{status=\"not_asked\"} 1\n"))
    }

    @Test(arguments: [RevocationMode.soft, .hard])
    func `a revoked certificate is refused, and a person is told`(mode: RevocationMode) throws {
        let responder = try OCSPResponder("R")
        let admission = try IngestFixture(mode, responder.pki)
        _ = try admission.verdict()
        try admission.wait("revoked")
        let answer = try admission.answer()
        #expect(answer.status == 403)
        let text = String(decoding: answer.body, as: UTF8.self)
        #expect(text.contains("\"untrusted\""))
        #expect(text.contains("revoked since 2026-01-01T00:00:00Z, reason 1"))
        try admission.log.wait(for: "Apple certificate revoked")
        #expect(admission.log.text.contains("\"level\":\"warning\""))
    }

    @Test(arguments: [(RevocationMode.soft, "accepted"), (.hard, "503 unavailable")])
    func `a certificate that the responder does not know is no forgery`(mode: RevocationMode, verdict: String) throws {
        let responder = try OCSPResponder(nil)
        let admission = try IngestFixture(mode, responder.pki)
        _ = try admission.verdict()
        try admission.wait("unknown")
        #expect(try admission.verdict() == verdict)
    }

    @Test(arguments: [(RevocationMode.soft, "accepted"), (.hard, "503 unavailable")])
    func `a responder that says nothing delays nobody`(mode: RevocationMode, verdict: String) throws {
        let silent = try Consumer { _, _ in .hold }
        defer { silent.stop() }
        let responder = try OCSPResponder("V", location: silent.url("/status"))
        let admission = try IngestFixture(mode, responder.pki, patience: .zero)
        for _ in 0..<3 {
            #expect(try admission.verdict() == verdict)
        }
        #expect(try silent.wait(1).map { $0.headers["content-type"] } == ["application/ocsp-request"])
        #expect(try admission.verdict() == verdict)
        try admission.wait("no_answer")
        #expect(try admission.verdict() == verdict)
        try admission.log.wait(for: "certificate revocation checks unanswered")
        #expect(admission.log.text.components(separatedBy: "certificate revocation checks unanswered").count == 2)
        // Asked once, and then not before the time for another attempt has come.
        #expect(silent.requests.count == 1)
    }

    @Test func `a slow responder counts when it answers`() throws {
        let responder = try OCSPResponder("R")
        let isOpen = Monitor(false)
        let admission = try IngestFixture(.soft, responder.pki, held: isOpen)
        #expect(try admission.verdict() == "accepted")
        #expect(try admission.verdict() == "accepted")
        isOpen.change { $0 = true }
        try admission.wait("revoked")
        #expect(try admission.verdict() == "403 untrusted")
    }

    @Test(arguments: [404, 500, 302])
    func `a responder that answers with another status has not answered`(status: Int) throws {
        let broken = try Consumer { _, _ in .status(status, headers: ["location": "http://127.0.0.1:1/"]) }
        defer { broken.stop() }
        let responder = try OCSPResponder("V", location: broken.url("/status"))
        let admission = try IngestFixture(.soft, responder.pki)
        #expect(try admission.verdict() == "accepted")
        try admission.wait("no_answer")
    }

    @Test func `an answer of another authority's responder counts for nothing`() throws {
        let (own, other) = (try OCSPResponder("V"), try OCSPResponder("R"))
        let misled = try OCSPResponder("V", location: other.address)
        let admission = try IngestFixture(.soft, misled.pki)
        #expect(try admission.verdict() == "accepted")
        try admission.wait("untrusted")
        #expect(try admission.verdict() == "accepted")
        _ = own
    }

    @Test func `where nothing is asked, a revoked certificate passes`() throws {
        let responder = try OCSPResponder("R")
        let admission = try IngestFixture(.off, responder.pki)
        #expect(try admission.verdict() == "accepted")
        #expect(admission.cache.census().isEmpty)
    }

    @Test func `an answer that is required and missing asks the store to come again`() throws {
        let responder = try OCSPResponder(nil)
        let admission = try IngestFixture(.hard, responder.pki)
        let answer = try admission.answer()
        #expect(answer.status == 503)
        #expect(answer.headers.contains { $0.name == "Retry-After" })
    }

    // MARK: - What Apple signed for others

    @Test func `apps and environments that were refused although Apple signed are counted and named`() throws {
        let responder = try OCSPResponder("V")
        let admission = try IngestFixture(.off, responder.pki)
        #expect(
            try admission.verdict(StoreApp(bundleID: "com.example.\"other\n", environment: "Production"))
                == "403 unknown_app")
        #expect(try admission.verdict(StoreApp(environment: "Sandbox")) == "403 environment_not_allowed")
        #expect(admission.log.text.contains("com.example.?other? Production unknown_app 1"))
        let counted = admission.metrics.exposition()
        #expect(
            counted.contains(
                "entitled_ingest_refused_signed_total{"
                    + "bundle_id=\"com.example.?other?\",environment=\"Production\",reason=\"unknown_app\"} 1\n"))
        #expect(counted.contains("environment=\"Sandbox\",reason=\"environment_not_allowed\"} 1\n"))
        // Each is told once, at once; again only after an hour.
        #expect(try admission.verdict(StoreApp(environment: "Sandbox")) == "403 environment_not_allowed")
        #expect(admission.log.text.components(separatedBy: "notifications for unconfigured apps rejected").count == 3)
        #expect(admission.log.text.contains("Sandbox environment_not_allowed 1"))
    }
}
