import AppStore
import Base
import Crypto
import Daemon
import Database
import Foundation
import HTTP
import Ingest
import StoreSimulator
import TestSupport
import Testing

/// What Apple signed can be had back byte for byte, whatever it was.
@Suite struct RawPayloadTests {
    /// Signs with a header spelled by the caller.
    private struct HeaderSigner {
        let pki: StorePKI

        func sign(_ payload: [UInt8], header: [UInt8]) throws -> [UInt8] {
            let dot = UInt8(ascii: ".")
            let signed = Array(Base64.encodeURL(header).utf8) + [dot] + Base64.encodeURL(payload).utf8
            return signed + [dot] + Base64.encodeURL(try pki.leafKey.signES256(signed)).utf8
        }

        func header(_ random: inout SeededRandom) -> [UInt8] {
            let chain = pki.chain.map { "\"\(Base64.encode($0.der))\"" }
            let space = ["", " ", "\n\t", "  "][random.below(4)]
            let list = "\"x5c\":\(space)[\(chain.joined(separator: ",\(space)"))]"
            let extra = ["", "\"kid\":\"\\u00e9\",", "\"typ\":\"JWT\",", "\"a\":{\"b\":[1,2]},"][random.below(4)]
            return Array("{\(space)\(extra)\"alg\":\"ES256\",\(space)\(list)\(space)}".utf8)
        }
    }

    /// As simple as a test needs it: the same sequence each time.
    private struct SeededRandom {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }

        mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }
    }

    /// A notification about nothing with members that nobody knows: texts, numbers, spellings.
    private static func payload(_ uuid: String, _ random: inout SeededRandom, nested: [String]) -> [UInt8] {
        let pieces =
            [
                #""\u0041\ud83d\ude00""#, "\"é€😀\"", "1e400", "-0.0", "[[],{}]", #""a.b.c""#, #""..""#, "\"\\/\"",
                "\"e30=\"", "\"AB.CD\\u002e\"", "12345678901234567890123",
            ] + nested.map { "\"\($0)\"" }
        var text = "{\"notificationType\":\"TEST\",\"notificationUUID\":\"\(uuid)\",\"version\":\"2.0\","
        text += "\"data\":{\"bundleId\":\"com.example.app\",\"appAppleId\":1234567890,\"environment\":\"Production\"}"
        for number in 0..<random.below(12) {
            let blank = ["", " ", "\r\n"][random.below(3)]
            text += ",\(blank)\"m\(number)\":\(blank)\(pieces[random.below(pieces.count)])"
        }
        return Array("\(text)}".utf8)
    }

    private static func raw(_ uuid: String, in database: TestDatabase) throws -> [UInt8] {
        let found = try NotificationQuery.find(
            uuid: uuid, app: nil, environment: nil, on: try database.connect(role: "entitled_api"))
        return try #require(found.whole.first).signedPayload
    }

    @Test(arguments: 0..<6)
    func `whatever the endpoint accepts comes back as it was signed`(seed: Int) throws {
        let installation = try Installation()
        let signer = HeaderSigner(pki: try Installation.keys)
        var random = SeededRandom(state: UInt64(seed) &* 7919)
        let header = signer.header(&random)
        let inner = String(
            decoding: try signer.sign(Array("{}".utf8), header: header), as: UTF8.self)
        let nested = [
            inner, inner.replacing("e30", with: "e31"), String(inner.dropLast(3)), inner + "=", inner + inner,
        ]
        for number in 0..<20 {
            let uuid = "odd \(seed) \(number)"
            let spelled = number % 3 == 0 ? signer.header(&random) : header
            let jws = try signer.sign(Self.payload(uuid, &random, nested: nested), header: spelled)
            // JSON may spell the same text in other ways.
            let text = String(decoding: jws, as: UTF8.self)
            let body =
                number % 2 == 0
                ? NotificationSigner.body(jws)
                : Array("{ \"x\": 1, \"signedPayload\" : \"\\u0065\(text.dropFirst())\" }".utf8)
            let answer = installation.post(body)
            #expect(answer.status == 200, "\(String(decoding: answer.body, as: UTF8.self))")
            #expect(try Self.raw(uuid, in: installation.database) == jws)
        }
    }

    @Test func `what storesim signs comes back, and stays so once it is applied`() throws {
        let installation = try Installation()
        var life = SubscriberLife(app: Installation.app, seed: 41)
        let notification = life.start(at: Installation.start)
        let body = try Installation.signer.sign(notification).body
        #expect(installation.post(body).status == 200)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        try installation.untilApplied(1)
        #expect(NotificationSigner.body(try Self.raw(notification.uuid, in: installation.database)) == body)
    }

    // MARK: - Genuine

    private static let folder = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "shared/data/apple-signed")

    private static let genuine = ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasPrefix("n") && $0.hasSuffix(".jws") }.sorted()

    @Test(.enabled(if: !genuine.isEmpty, "skipped: the data is not here"), arguments: genuine)
    func `what Apple signed comes back byte for byte`(file: String) throws {
        let jws = RequestBody.jws(inFile: Array(try Data(contentsOf: Self.folder.appending(path: file))))
        let segments = jws.split(separator: UInt8(ascii: "."))
        let decoded = try #require(Base64.decodeURL(segments[1]))
        let payload = try #require(NotificationPayload(payload: decoded))
        let app = AppRegistry.App(
            id: "genuine", bundleID: payload.subject?.bundleId ?? "", appleAppID: nil, environments: [.sandbox])
        let trust = TrustAnchors(fingerprints: [
            try #require(Hex.decode("63343ABFB89A6A03EBB57E9B3F5FA7BE7C4F5C756F3017B3A8C488C3653E9179"))
        ])
        let handler = IngestHandler(
            apps: AppRegistry([app]), verifier: SignedDataVerifier(trust: trust),
            committer: Installation.idleCommitter, dictionaries: HeaderDictionaries(), logger: .silent,
            metrics: Metrics())
        let database = try TestCluster.shared.makeMigratedDatabase()
        var inserter = NotificationInserter(
            sequence: SequenceGenerator(clock: SystemClock(), node: 1), clock: SystemClock())
        let notification = try handler.read(NotificationSigner.body(jws)).get()
        _ = try inserter.insert([notification], on: try database.connect(role: "entitled_ingest"))
        #expect(try Self.raw(payload.notificationUUID, in: database) == jws)
    }
}
