import Base
import Crypto
import Daemon
import Foundation
import HTTP
import StoreSimulator
import TestSupport
import Testing

@testable import AppStoreAPI

/// Apple's own Python client, unmodified but for its base URL, and Apple's verifier, against the simulated store: so the
/// store is like Apple's where our client is not the judge.
///
/// They come from PyPI by `deploy/python-checks`; without it these tests are skipped.
@Suite(.enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"))
struct AppleClientTests {
    private struct Accepting: HTTPHandler {
        func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { responder.respond(HTTPResponse(status: 200)) }
    }

    @Test(arguments: [StoreEnvironment.sandbox, .production])
    func `every endpoint answers as Apple's client expects, and what it signs is verified`(
        environment: StoreEnvironment
    ) throws {
        let receiver = HTTPServer(
            HTTPServerConfiguration(role: "receiver", listen: "127.0.0.1:0"), handler: Accepting(), logger: .silent)
        try receiver.start()
        defer { receiver.drain(until: .now + .seconds(1)) }
        let bench = try StoreFixture(environment) {
            $0.receiver = ReceiverURL("http://127.0.0.1:\(receiver.boundPort ?? 0)/")
        }
        let said = try JSON(parsing: Array(try AppleClient.run(bench, environment).utf8))
        #expect(said["verified"]?.intValue ?? 0 > 300)
        // What Apple's library knows of errors, ours does.
        let codes = said["codes"]?.arrayValue?.compactMap(\.intValue)
        #expect(codes == ServerAPIErrorCode.allCases.map(\.rawValue).sorted())
    }
}

/// How Apple's client is run.
private enum AppleClient {
    private static let script = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "AppleClient/apple_client.py").path

    static func run(_ bench: StoreFixture, _ environment: StoreEnvironment) throws -> String {
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        let (input, key, root) = ("\(folder)/given.json", "\(folder)/key.p8", "\(folder)/root.der")
        try Data(try bench.service.token.key.pem().utf8).write(to: URL(filePath: key))
        try Data(bench.pki.root.der).write(to: URL(filePath: root))
        try Data(given(bench, environment, key: key, root: root).bytes).write(to: URL(filePath: input))
        return try PythonChecks.run(file: script, [input])
    }

    private static func given(_ bench: StoreFixture, _ environment: StoreEnvironment, key: String, root: String) -> JSON
    {
        let (life, now) = (bench.subscriber, SystemClock().now())
        let order = "M" + String(UInt64(life.latest.id) ?? 0, radix: 36, uppercase: true)
        let told = [life, bench.refunded, bench.family].flatMap(\.notifications).filter { $0.signedDate <= now }
        return .object([
            "environment": .string(environment.rawValue), "base_url": .string(bench.service.baseURL),
            "bundle_id": .string(bench.app.bundleID), "apple_app_id": .int(bench.app.appleAppID),
            "issuer_id": .string(bench.service.token.issuerID), "key_id": .string(bench.service.token.keyID),
            "private_key": .string(key), "root": .string(root),
            "subscription": .string(life.latest.originalID), "customer": .string(life.account.appTransactionID),
            "expires": .int(life.expires),
            "transactions": .int(Int64(life.periods.count + life.oneTimePurchases.count)),
            "one_time": .string(life.oneTimePurchases.first?.id ?? ""), "order": .string(order),
            "refunded": .string(bench.refunded.latest.originalID), "refunds": .int(25),
            "notifications": .int(Int64(told.count)), "storefronts": .strings([life.account.storefront]),
        ])
    }
}
