import AppStore
import Base
import Crypto
import Daemon
import Database
import FoundationEssentials
import Ingest
import Postgres

/// What verifying and reading one notification costs, on one thread, without a socket or a database.
struct VerifyScenario {
    let options: BenchmarkOptions
    let requests: PresignedRequests

    private static let share = 1000

    func run() throws -> BenchmarkReport {
        let bodies = (0..<min(requests.count, VerifyScenario.share)).map(requests.body)
        let payloads = bodies.compactMap(RequestBody.signedPayload(in:))
        let verifier = SignedDataVerifier(trust: TrustAnchors(certificates: [try VerifyScenario.root(requests)]))
        let handler = VerifyScenario.handler(verifier)
        let signatures = try OneSignature(payloads)

        var report = BenchmarkReport("verify")
        report.add("body_bytes", requests.meanBodyBytes, "bytes")
        let verify = signatures.microseconds(rounds: options.rounds)
        let jws = try ThreadCPU.microseconds(items: payloads.count, rounds: options.rounds) {
            for payload in payloads {
                guard case .success = verifier.verify(payload) else { throw BenchmarkFailure("a JWS is not genuine") }
            }
        }
        let read = try ThreadCPU.microseconds(items: bodies.count, rounds: options.rounds) {
            for body in bodies {
                if case .failure(let refusal) = handler.read(body) { throw BenchmarkFailure(refusal.message) }
            }
        }
        report.add("signature_check", verify, "µs CPU")
        report.add("verified_jws", jws, "µs CPU")
        report.add("read_body", read, "µs CPU")
        report.add("read_body_ratio", read / verify, "signature checks", wanted: "part of P1 ≤ 3")
        return report
    }

    /// Processor time of one signature check over one notification, in microseconds: what ratios are ratios to.
    static func signatureCheck(_ requests: PresignedRequests) throws -> Double {
        let payloads = (0..<min(requests.count, share)).map(requests.body).compactMap(RequestBody.signedPayload(in:))
        return try OneSignature(payloads).microseconds(rounds: 5)
    }

    private static func root(_ requests: PresignedRequests) throws -> Certificate {
        let text = try String(contentsOfFile: requests.root, encoding: .utf8)
        guard let der = PEMBlock.decode("CERTIFICATE", text)?.first, let root = Certificate(der: der) else {
            throw BenchmarkFailure("\(requests.root) is no certificate")
        }
        return root
    }

    /// As the daemon has it, with a committer that is never started.
    private static func handler(_ verifier: SignedDataVerifier) -> IngestHandler {
        let metrics = Metrics()
        let committer = NotificationCommitter(
            timeout: .seconds(8),
            session: { PostgresSession(PostgresTarget(url: "postgresql:///none")) },
            sequence: { SequenceGenerator(clock: SystemClock(), node: 1) }, clock: SystemClock(), logger: .silent,
            metrics: metrics)
        let app = AppRegistry.App(
            id: "demo", bundleID: "com.example.app", appleAppID: 1_234_567_890, environments: [.sandbox])
        return IngestHandler(
            apps: AppRegistry([app]), verifier: verifier, committer: committer, dictionaries: HeaderDictionaries(),
            logger: .silent, metrics: metrics)
    }
}

/// The bare cryptography of the outer signature, taken apart beforehand.
private struct OneSignature {
    private let key: VerificationKey
    private let parts: [(signature: [UInt8], signed: ArraySlice<UInt8>)]

    init(_ payloads: [[UInt8]]) throws {
        let dot = UInt8(ascii: ".")
        parts = payloads.compactMap { payload in
            guard let last = payload.lastIndex(of: dot), let signature = Base64.decodeURL(payload[(last + 1)...])
            else { return nil }
            return (signature, payload[..<last])
        }
        let header = try JSON(
            parsing: parts.first.flatMap { Base64.decodeURL($0.signed.prefix { $0 != dot }) } ?? [])
        let leaf = header["x5c"]?.arrayValue?.first?.stringValue.flatMap { Base64.decode($0.utf8) }
        guard let key = leaf.flatMap(Certificate.init(der:))?.verificationKey else {
            throw BenchmarkFailure("the header has no certificate")
        }
        self.key = key
    }

    func microseconds(rounds: Int) -> Double {
        ThreadCPU.microseconds(items: max(1, parts.count), rounds: rounds) {
            for part in parts where !key.verifies(part.signature, of: part.signed) {
                preconditionFailure("a signature is not genuine")
            }
        }
    }
}
