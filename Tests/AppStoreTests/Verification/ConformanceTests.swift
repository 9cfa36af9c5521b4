import Base
import Crypto
import Foundation
import Testing

@testable import AppStore

/// What the suites below have in common: Apple's test data, and our answers in the table's terms.
enum Conformance {
    typealias Answer = ConformanceCase.Answer

    /// November 2025, milliseconds.
    static let date: Int64 = 1_761_962_975_000

    static func certificate(_ name: String) -> [UInt8] {
        TestData.bytes("apple-test/embedded-certs/\(name)_BASE64_ENCODED.der")
    }

    static func trust(_ root: [UInt8]) -> TrustAnchors {
        TrustAnchors(certificates: Certificate(der: root).map { [$0] } ?? [])
    }

    static func mock(_ name: String) -> [UInt8] {
        RequestBody.jws(inFile: TestData.bytes("apple-test/mock_signed_data/\(name)"))
    }

    static func answer(_ result: Result<some Any, VerificationFailure>) -> Answer {
        result.failure.map { .refused($0.reason) } ?? .valid
    }

    /// Of a chain alone: nobody has the keys of these certificates, so there is nothing they signed.
    static func chain(
        _ texts: [String], trust: TrustAnchors, at date: Int64 = date
    ) -> Result<VerifiedChain, VerificationFailure> {
        let header = MintedChain.header(texts)
        do throws(VerificationFailure) {
            let read = try SigningHeader.read(Array(Base64.encodeURL(header).utf8)[...])
            return .success(try ChainPolicy(trust: trust, cache: ChainCache()).chain(of: read, at: date))
        } catch {
            return .failure(error)
        }
    }
}

@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct ConformanceTableTests {
    @Test func `every row of the table has a test, and every test a row`() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        let files = ["ConformanceTests.swift", "ConformanceModelTests.swift"]
        let lines = try files.flatMap {
            try String(contentsOf: folder.appending(path: $0), encoding: .utf8).split(separator: "\n")
        }
        var (suite, found) = ("", [String]())
        for line in lines {
            if line.hasPrefix("struct ") {
                suite = String(line.dropFirst(7).prefix { $0.isLetter || $0.isNumber })
            } else if let name = line.firstMatch(of: /@Test func (test\w+|should\w+)\(/)?.1 {
                found.append("\(suite).\(name)")
            }
        }
        #expect(found.sorted() == ConformanceTable.cases.map { "\($0.suite).\($0.name)" }.sorted())
    }

    @Test func `where all four of Apple's libraries refuse, so do we`() {
        let lenient = ConformanceTable.cases.filter { row in
            let theirs = [row.swift, row.python, row.node, row.java]
            return !theirs.contains("OK") && !theirs.contains("once") && !theirs.contains("twice")
                && [.valid, .decoded].contains(row.ours)
        }
        #expect(lenient.isEmpty)
    }
}

@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct X509Verification {
    private let root = Conformance.certificate("ROOT_CA")

    private func check(
        _ certificates: [String], trust: TrustAnchors? = nil, at date: Int64 = Conformance.date,
        _ function: String = #function
    ) {
        let texts = certificates.map { Base64.encode(Conformance.certificate($0)) }
        checkTexts(texts, trust: trust, at: date, function)
    }

    private func checkTexts(
        _ texts: [String], trust: TrustAnchors? = nil, at date: Int64 = Conformance.date, _ function: String = #function
    ) {
        let found = Conformance.chain(texts, trust: trust ?? Conformance.trust(root), at: date)
        #expect(Conformance.answer(found) == ConformanceTable.answer("X509Verification", function))
    }

    @Test func test_valid_chain_without_ocsp() throws {
        check(["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"])
        // Its key is the one that Apple's tests expect.
        let expected = try #require(
            Base64.decode(
                ("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE4rWBxGmFbnPIPQI0zsBKzLxsj8pD2vqbr0yPISUx2WQyxmrNql9fhK8YEEyYFV7"
                    + "++p5i4YUSR/o9uQIgCPIhrA==").utf8))
        let texts = ["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"].map { Base64.encode(Conformance.certificate($0)) }
        let leaf = try Conformance.chain(texts, trust: Conformance.trust(root)).get().path.leaf.der
        #expect(leaf.indices.contains { leaf[$0...].starts(with: expected) })
    }

    @Test func test_valid_chain_invalid_intermediate_OID_without_OCSP() {
        check(["LEAF_CERT_FOR_INTERMEDIATE_CA_INVALID_OID", "INTERMEDIATE_CA_INVALID_OID", "ROOT_CA"])
        check(["LEAF_CERT", "INTERMEDIATE_CA_INVALID_OID", "ROOT_CA"])
    }

    @Test func test_valid_chain_invalid_leaf_OID_without_OCSP() {
        check(["LEAF_CERT_INVALID_OID", "INTERMEDIATE_CA", "ROOT_CA"])
    }

    @Test func test_invalid_chain_length() {
        check(["LEAF_CERT", "INTERMEDIATE_CA"])
    }

    @Test func test_invalid_base64_in_certificate_list() {
        let others = ["INTERMEDIATE_CA", "ROOT_CA"].map { Base64.encode(Conformance.certificate($0)) }
        checkTexts(["abc"] + others)
        checkTexts([Base64.encode(Conformance.certificate("LEAF_CERT")) + "a"] + others)
    }

    @Test func test_invalid_data_in_certificate_list() {
        let others = ["INTERMEDIATE_CA", "ROOT_CA"].map { Base64.encode(Conformance.certificate($0)) }
        checkTexts([Base64.encode("abc".utf8)] + others)
        checkTexts([Base64.encode("abc123".utf8)] + others)
    }

    @Test func test_malformed_root_cert() throws {
        #expect(ConformanceTable.answer("X509Verification", #function) == .noVerifier)
        for bytes in [Array("abc".utf8), [0, 1, 2]] {
            #expect(CertificateFile.certificates(in: bytes) == nil)
        }
    }

    @Test func test_chain_different_than_root_certificate() {
        let apple = Conformance.trust(Conformance.certificate("REAL_APPLE_ROOT"))
        check(["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"], trust: apple)
        check(["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"], trust: .apple)
    }

    @Test func test_valid_expired_chain() {
        check(["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"], at: 2_280_946_846_000)
    }

    @Test func test_apple_chain_is_valid_with_ocsp_and_strict() {
        let names = ["SIGNING_CERTIFICATE", "INTERMEDIATE", "ROOT"].map { "REAL_APPLE_\($0)" }
        check(names, trust: .apple)
        check(names, trust: Conformance.trust(Conformance.certificate("REAL_APPLE_ROOT")))
    }

    @Test func testEmptyRootCertificateList() {
        check(["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"], trust: TrustAnchors())
    }
}

@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct X509Caching {
    private let verifier = SignedDataVerifier(trust: Conformance.trust(Conformance.certificate("ROOT_CA")))
    private let old = Conformance.mock("testNotification")
    private let new = Conformance.mock("renewalInfo")

    private func check(_ kept: Int, _ function: String = #function) {
        #expect(ConformanceTable.answer("X509Caching", function) == .chainsKept(kept))
    }

    @Test func test_ocsp_response_caching() {
        #expect(verifier.verify(old).failure == nil)
        #expect(verifier.verify(old).failure == nil)
        check(verifier.knownChains)
    }

    @Test func test_ocsp_response_caching_has_expiration() {
        #expect(verifier.verify(old).failure == nil)
        #expect(verifier.verify(old, at: Conformance.date).failure == nil)
        check(verifier.knownChains)
        #expect(verifier.verify(old, at: 2_280_946_846_000).failure?.reason == .certificateNotValidAtDate)
    }

    @Test func test_ocsp_response_caching_with_different_chain() {
        #expect(verifier.verify(old).failure == nil)
        #expect(verifier.verify(new).failure == nil)
        check(verifier.knownChains)
    }

    @Test func test_ocsp_response_caching_with_slightly_different_chain() throws {
        let certificates = ["LEAF_CERT", "INTERMEDIATE_CA", "ROOT_CA"].map(Conformance.certificate)
        let trust = Conformance.trust(certificates[2])
        let chain = try Conformance.chain(certificates.map { Base64.encode($0) }, trust: trust).get()
        let cache = ChainCache()
        cache.insert(chain, forHeader: [1])
        // The root of the older test data: the same name and key, another certificate.
        let header = try #require(old.split(separator: UInt8(ascii: ".")).first.flatMap { Base64.decodeURL($0) })
        let x5c = try #require(try JSON(parsing: header)["x5c"]?.arrayValue?.compactMap(\.stringValue))
        let otherRoot = try #require(Base64.decode(x5c[2].utf8))
        #expect(otherRoot != certificates[2])
        #expect(cache.chain(leaf: certificates[0], intermediate: certificates[1], root: certificates[2]) != nil)
        #expect(cache.chain(leaf: certificates[0], intermediate: certificates[1], root: otherRoot) == nil)
        let texts = [certificates[0], certificates[1], otherRoot].map { Base64.encode($0) }
        cache.insert(try Conformance.chain(texts, trust: trust).get(), forHeader: [2])
        check(cache.count)
    }
}

@Suite(.enabled(if: TestData.isPresent, "skipped: the data is not here"))
struct PayloadVerification {
    private func check(
        _ jws: [UInt8], as kind: SignedDataKind, for identity: Identity, _ function: String = #function
    ) {
        let trust = Conformance.trust(TestData.bytes("apple-test/certs/testCA.der"))
        let found = SignedDataInspector(verifier: SignedDataVerifier(trust: trust)).inspect(
            jws, as: kind, for: identity)
        #expect(Conformance.answer(found) == ConformanceTable.answer("PayloadVerification", function))
    }

    private let sandbox = Identity(bundleID: "com.example", appleAppID: 1234, environments: [.sandbox])

    private func production(_ app: Int64) -> Identity {
        Identity(bundleID: "com.example", appleAppID: app, environments: [.production])
    }

    @Test func test_app_store_server_notification_decoding() {
        check(Conformance.mock("testNotification"), as: .notification, for: sandbox)
    }

    @Test func test_app_store_server_notification_decoding_production() {
        check(Conformance.mock("testNotification"), as: .notification, for: production(1234))
    }

    @Test func test_missing_x5c_header() {
        check(Conformance.mock("missingX5CHeaderClaim"), as: .notification, for: sandbox)
    }

    @Test func test_wrong_bundle_id_for_server_notification() {
        check(Conformance.mock("wrongBundleId"), as: .notification, for: sandbox)
    }

    @Test func test_wrong_app_apple_id_for_server_notification() {
        check(Conformance.mock("testNotification"), as: .notification, for: production(1235))
    }

    @Test func testWrongAppAppleIdForServerNotification() {
        check(Conformance.mock("testNotification"), as: .transaction, for: sandbox)
    }

    @Test func test_wrong_bundle_id_for_transaction() {
        let other = Identity(bundleID: "com.example.x", environments: [.sandbox])
        check(Conformance.mock("transactionInfo"), as: .transaction, for: other)
    }

    @Test func test_renewal_info_decoding() {
        check(Conformance.mock("renewalInfo"), as: .renewal, for: sandbox)
    }

    @Test func test_transaction_info_decoding() {
        check(Conformance.mock("transactionInfo"), as: .transaction, for: sandbox)
    }

    @Test func shouldVerifyATransactionInfoAsRenewalInfo() {
        check(Conformance.mock("transactionInfo"), as: .renewal, for: sandbox)
    }

    @Test func test_malformed_jwt_with_too_many_parts() {
        check(Array("a.b.c.d".utf8), as: .notification, for: sandbox)
    }

    @Test func test_malformed_jwt_with_malformed_data() {
        check(Array("a.b.c".utf8), as: .notification, for: sandbox)
    }
}
