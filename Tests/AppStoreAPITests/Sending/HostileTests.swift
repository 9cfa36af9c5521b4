import AppStore
import Base
import Crypto
import Daemon
import HTTP
import StoreSimulator
import Synchronization
import TestSupport
import Testing

@testable import AppStoreAPI

/// Answers that Apple would never give.
@Suite struct HostileTests {
    /// Answers every request by a closure.
    private final class Impostor: Sendable {
        private struct Handler: HTTPHandler {
            let answer: @Sendable (HTTPRequest) -> HTTPResponse

            func handle(_ request: HTTPRequest, _ responder: HTTPResponder) { responder.respond(answer(request)) }
        }

        private let server: HTTPServer

        init(_ answer: @escaping @Sendable (HTTPRequest) -> HTTPResponse) throws {
            server = HTTPServer(
                HTTPServerConfiguration(role: "impostor", listen: "127.0.0.1:0"), handler: Handler(answer: answer),
                logger: .silent)
            try server.start()
        }

        deinit {
            server.drain(until: .now + .seconds(1))
        }

        var url: String { "http://127.0.0.1:\(server.boundPort ?? 0)" }
    }

    private let bench: StoreFixture
    private let id: String

    init() throws {
        bench = try StoreFixture()
        id = bench.subscriber.latest.id
    }

    private func client(_ impostor: Impostor) throws -> ServerAPIClient {
        bench.keep(impostor)
        return try bench.client(url: impostor.url, retries: ServerAPIRetryPolicy(base: .milliseconds(1), attempts: 2))
    }

    private func answering(_ json: JSON) throws -> Impostor { try Impostor { _ in .json(200, json) } }

    private func signed(_ pki: StorePKI? = nil, _ adjust: (inout SubscriberLife) -> Void = { _ in }) throws -> String {
        var life = bench.subscriber
        adjust(&life)
        return try NotificationSigner(pki ?? bench.pki).sign(
            life.latest.payload(signedDate: SystemClock().now()))
    }

    @Test(arguments: [
        "", "null", "[]", "7", "{", #"{"signedTransactionInfo":7}"#, #"{"signedTransactionInfo":null}"#,
        "\u{feff}{}", String(repeating: "[", count: 100_000),
    ])
    func `garbage is told as such`(body: String) throws {
        let impostor = try Impostor { _ in .text(200, body, type: "application/json") }
        let error = try failure { try client(impostor).transaction(id, in: .only(.sandbox)) }
        guard case .malformed = error else { throw TestFailure("\(error)") }
    }

    @Test(arguments: [
        "transactions": #"{"hasMore":true,"revision":"r"}"#, "lookup": #"{"signedTransactions":[]}"#,
        "subscriptions": #"{"data":[{"lastTransactions":[{"status":1}]}]}"#,
        "history": #"{"hasMore":false}"#, "test": "{}",
    ])
    func `an answer without what it is about is told as such`(kind: String, body: String) throws {
        let client = try client(try Impostor { _ in .text(200, body, type: "application/json") })
        let error = try failure {
            switch kind {
            case "transactions": _ = try client.transactionPage(of: id, in: .sandbox)
            case "lookup": _ = try client.order("M1", in: .sandbox)
            case "subscriptions": _ = try client.subscriptions(of: id, in: .only(.sandbox))
            case "history": _ = try client.notificationPage(NotificationHistoryQuery(from: 0, to: 1), in: .sandbox)
            default: _ = try client.requestTestNotification(in: .sandbox)
            }
        }
        guard case .malformed = error else { throw TestFailure("\(error)") }
    }

    @Test func `what was signed by somebody else is not confirmed, and is named`() throws {
        let stranger = try StorePKI.generate(now: SystemClock().now())
        let (good, bad) = (try signed(), try signed(stranger))
        let page = JSON.object(["signedTransactions": .strings([good, good, bad]), "hasMore": .bool(false)])
        let error = try failure { try client(try answering(page)).transactionPage(of: id, in: .sandbox) }
        guard case .untrusted("signedTransactions[2]", let failure) = error else { throw TestFailure("\(error)") }
        #expect(failure.reason == .untrustedRoot && !error.isRetryable)
    }

    @Test func `what was changed after signing is not confirmed`() throws {
        let parts = try signed().split(separator: ".").map(String.init)
        let payload = bench.refunded.latest.payload(signedDate: SystemClock().now())
        let changed = "\(parts[0]).\(Base64.encodeURL(payload.bytes)).\(parts[2])"
        let error = try failure {
            try client(try answering(.object(["signedTransactionInfo": .string(changed)])))
                .transaction(bench.refunded.latest.id, in: .only(.sandbox))
        }
        guard case .untrusted("signedTransactionInfo", let failure) = error else { throw TestFailure("\(error)") }
        #expect(failure.reason == .badSignature)
    }

    @Test(arguments: [VerificationFailure.Reason.wrongBundleID, .wrongEnvironment])
    func `what is signed for another app or environment is not confirmed`(
        reason: VerificationFailure.Reason
    ) throws {
        var app = bench.app
        if reason == .wrongBundleID { app.bundleID = "com.example.other" } else { app.environment = "Production" }
        var life = SubscriberLife(app: app, seed: 9)
        life.start(at: SystemClock().now() - StoreFixture.day)
        let text = try NotificationSigner(bench.pki).sign(life.latest.payload(signedDate: SystemClock().now()))
        let answer = JSON.object(["signedTransactionInfo": .string(text)])
        let error = try failure { try client(try answering(answer)).transaction(life.latest.id, in: .only(.sandbox)) }
        guard case .untrusted(_, let failure) = error else { throw TestFailure("\(error)") }
        #expect(failure.reason == reason)
    }

    @Test func `a genuine transaction that nobody asked for is refused`() throws {
        let answer = JSON.object(["signedTransactionInfo": .string(try signed())])
        let error = try failure {
            try client(try answering(answer)).transaction(bench.refunded.latest.id, in: .only(.sandbox))
        }
        #expect(error == .malformed("it is about another transaction"))
    }

    @Test func `a status beside the signed data of another subscription is refused`() throws {
        let last = JSON.object([
            "status": .int(1), "originalTransactionId": .string("1"), "signedTransactionInfo": .string(try signed()),
        ])
        let group = JSON.object(["lastTransactions": .array([last])])
        let answer = JSON.object(["data": .array([group])])
        let error = try failure { try client(try answering(answer)).subscriptions(of: id, in: .only(.sandbox)) }
        guard case .malformed(let text) = error else { throw TestFailure("\(error)") }
        #expect(text.contains("data[0].lastTransactions[0]"))
    }

    @Test func `a bad notification in the history is marked, and the others are not lost`() throws {
        let stranger = NotificationSigner(try StorePKI.generate(now: SystemClock().now()))
        let good = try NotificationSigner(bench.pki).sign(bench.subscriber.notifications[0])
        let items = try [good, stranger.sign(bench.subscriber.notifications[1])].map { made in
            JSON.object([
                "signedPayload": try JSON(parsing: made.body)["signedPayload"],
                "sendAttempts": .array([
                    .object(["attemptDate": .int(1), "sendAttemptResult": .string("CARRIER_PIGEON")])
                ]),
            ])
        }
        let answer = JSON.object(["hasMore": .bool(false), "notificationHistory": .array(items)])
        let page = try client(try answering(answer)).notificationPage(
            NotificationHistoryQuery(from: 0, to: 1), in: .sandbox)
        #expect(try page.items[0].data.get().notification?.notificationUUID == good.notification.uuid)
        #expect(throws: VerificationFailure.self) { try page.items[1].data.get() }
        #expect(page.items[0].attempts.first?.result?.meaning == "an unknown result: CARRIER_PIGEON")
    }

    @Test func `an answer without an end is cut`() throws {
        let huge = [UInt8](repeating: UInt8(ascii: "x"), count: 12 << 20)
        let impostor = try Impostor { _ in HTTPResponse(status: 200, body: huge) }
        #expect(
            try failure { try client(impostor).transaction(id, in: .only(.sandbox)) } == .tooLarge(256 << 10))
        #expect(
            try failure { try client(impostor).transactionPage(of: id, in: .sandbox) } == .tooLarge(8 << 20))
    }

    @Test func `a page of several megabytes is read`() throws {
        let text = try signed()
        let page = JSON.object([
            "signedTransactions": .strings(Array(repeating: text, count: 700)), "hasMore": .bool(false),
        ])
        #expect(page.bytes.count > 3 << 20)
        let read = try client(try answering(page)).transactionPage(of: id, in: .sandbox)
        #expect(read.transactions.count == 700)
    }

    @Test(arguments: ["same", "circle", "empty", "none"])
    func `pages without an end are given up`(kind: String) throws {
        let count = Mutex(0)
        let text = try signed()
        let impostor = try Impostor { _ in
            let number = count.withLock { count in
                count += 1
                return count
            }
            let revision: String? =
                switch kind {
                case "same": "r"
                case "circle": "r\(number % 3)"
                case "empty": "r\(number)"
                default: nil
                }
            return .json(
                200,
                .object([
                    "signedTransactions": kind == "empty" ? .array([]) : .strings([text]), "hasMore": .bool(true),
                    "revision": revision.map { .string($0) },
                ]))
        }
        let client = try client(impostor)
        let error = try failure { try client.transactions(of: id, in: .only(.sandbox)) }
        guard case .malformed = error else { throw TestFailure("\(error)") }
        #expect(count.withLock { $0 } <= 21)
    }

    @Test func `a redirect is not followed`() throws {
        let other = try Impostor { _ in .json(200, .object(["signedTransactionInfo": .string("x")])) }
        let url = other.url
        let impostor = try Impostor { request in
            HTTPResponse(status: 302, headers: [("Location", url + request.head.target)])
        }
        let error = try failure { try client(impostor).transaction(id, in: .only(.sandbox)) }
        #expect(error == .refused(ServerAPIRejection(status: 302)))
    }

    @Test func `a rate limit until the end of time ends with the deadline`() throws {
        let impostor = try Impostor { _ in
            HTTPResponse(status: 429, headers: [("Retry-After", "9999999999999")])
        }
        let error = try failure {
            try client(impostor).transaction(id, in: .only(.sandbox), CallOptions(within: .seconds(2)))
        }
        #expect(error == .refused(ServerAPIRejection(status: 429)))
    }
}
