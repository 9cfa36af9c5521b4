import AppStore
import Base
import Daemon
import HTTP
import TestSupport
import Testing

@testable import AppStoreAPI
@testable import StoreSimulator

/// What a test, or a person with curl, does with a store that runs.
@Suite struct StoreControlTests {
    private let bench: StoreFixture
    private let http: HTTPClient

    init() throws {
        // Nobody listens there.
        bench = try StoreFixture { $0.receiver = ReceiverURL("http://127.0.0.1:1/") }
        http = try HTTPClient(
            configuration: HTTPClientConfiguration(
                allowedNetworks: ["127.0.0.0/8"].compactMap { Network(parsing: $0) }, responseLimit: 4 << 20),
            logger: .silent, metrics: Metrics())
        http.start()
    }

    private func control(_ method: String, _ path: String, _ body: String = "") throws -> (status: Int, json: JSON?) {
        let request = OutgoingRequest(
            url: bench.service.baseURL + "/control/" + path, method: method, body: Array(body.utf8))
        guard case .response(let response) = http.sendAndWait(request) else { throw TestFailure("no answer") }
        return (response.status, try? JSON(parsing: response.body))
    }

    private func ask() throws -> ServerAPIErrorCode? {
        let client = try bench.client(retries: ServerAPIRetryPolicy(attempts: 1))
        do {
            _ = try client.transaction(bench.subscriber.latest.id, in: .only(.sandbox))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a fault is asked for, and taken back`() throws {
        #expect(try ask() == nil)
        #expect(try control("POST", "faults", #"{"kind":"rate_limited","path":"/transactions"}"#).status == 204)
        #expect(try ask() == .rateLimitExceeded)
        #expect(try ask() == nil, "one time, unless more is said")
        #expect(try control("POST", "faults", #"{"kind":"not_found","percent":100}"#).status == 204)
        #expect(try ask() == .transactionIDNotFound)
        #expect(try ask() == .transactionIDNotFound)
        #expect(try control("DELETE", "faults").status == 204)
        #expect(try ask() == nil)
        for bad in [
            "", "{}", #"{"kind":"dance"}"#, #"{"kind":"error","percent":101}"#, #"{"kind":"slow","seconds":-1}"#,
        ] {
            #expect(try control("POST", "faults", bad).status == 400, "\(bad)")
        }
        #expect(try control("GET", "nothing").status == 404)
    }

    @Test func `an outage ends by itself`() throws {
        #expect(try control("POST", "faults", #"{"kind":"outage","seconds":3}"#).status == 204)
        let client = try bench.client(
            retries: ServerAPIRetryPolicy(base: .milliseconds(50), longest: .milliseconds(100), attempts: 1000))
        _ = try client.transaction(bench.subscriber.latest.id, in: .only(.sandbox))
        #expect(bench.metrics.exposition().contains(#"outcome="server_error""#))
    }

    @Test func `calls and notifications are told`() throws {
        _ = try ask()
        let calls = try control("GET", "calls").json?["calls"]?.arrayValue ?? []
        #expect(calls.last?["status"]?.intValue == 200)
        #expect(calls.last?["target"]?.stringValue == "/inApps/v1/transactions/\(bench.subscriber.latest.id)")
        #expect(try control("POST", "calls/clear").status == 204)
        #expect(try control("GET", "calls").json?["calls"]?.arrayValue?.isEmpty == true)
        try eventually("everything was tried") {
            let all = try control("GET", "notifications").json?["notifications"]?.arrayValue ?? []
            return all.count > 100 && all.allSatisfy { $0["attempts"]?.arrayValue == [.string("SOCKET_ISSUE")] }
        }
    }

    @Test func `while nothing arrives a test notification has no answer`() throws {
        #expect(try control("POST", "faults", #"{"kind":"undelivered","seconds":60}"#).status == 204)
        let client = try bench.client()
        let token = try client.requestTestNotification(in: .sandbox)
        var results: [String?] = []
        try eventually("it was tried") {
            results = try client.testNotificationStatus(token, in: .sandbox)?.attempts.map(\.result?.rawValue) ?? []
            return !results.isEmpty
        }
        #expect(results == ["NO_RESPONSE"])
    }

    @Test(arguments: [
        ("error", StoreFault(.error)), ("error:5", StoreFault(.error, percent: 5)),
        ("rate_limited:10@/history", StoreFault(.rateLimited, percent: 10, path: "/history")),
        ("slow@/x@y", StoreFault(.slow, path: "/x@y")),
    ])
    func `a fault is written on a command line`(text: String, wanted: StoreFault) {
        #expect(StoreFault(text: text) == wanted)
    }
}
