import Base
import Database
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing
import Worker

/// Hostile consumers of a real worker: each delivery gets its state, and its attempt tells why.
@Suite struct HostileDeliveryTests {
    private struct Case: Sendable {
        let path: String
        let state: DeliveryState
        let outcome: AttemptOutcome
        let status: Int?
        var truncated = false
        var response: String?
    }

    private static let cases = [
        Case(path: "/ok", state: .delivered, outcome: .delivered, status: 200, response: "done"),
        Case(path: "/endless", state: .delivered, outcome: .delivered, status: 200, truncated: true),
        Case(path: "/endless-chunks", state: .delivered, outcome: .delivered, status: 200, truncated: true),
        Case(path: "/script/204-with-body", state: .delivered, outcome: .delivered, status: 204),
        Case(path: "/script/metadata", state: .pending, outcome: .status(.redirect), status: 302),
        Case(path: "/script/999", state: .pending, outcome: .status(.other), status: 999),
        Case(path: "/script/secrets", state: .pending, outcome: .status(.serverError), status: 500, response: "oops"),
        Case(
            path: "/script/length-too-long", state: .pending, outcome: .failed(.closed), status: 200, response: "done"),
        Case(path: "/script/reset-mid-head", state: .pending, outcome: .failed(.closed), status: 200),
        Case(path: "/huge-headers", state: .pending, outcome: .failed(.tooLarge), status: 200),
        Case(path: "/script/nul", state: .pending, outcome: .failed(.notHTTP), status: 200),
        Case(path: "/drip", state: .pending, outcome: .failed(.timeout), status: 200),
        Case(path: "/hang", state: .pending, outcome: .failed(.timeout), status: nil),
    ]

    private func deliveries(_ installation: Installation, _ paths: [String: String]) throws -> [String: DeliveryID] {
        let found = try DeliveryQuery.list(
            .init(), .init(limit: 100), on: try installation.database.connect(role: "entitled_api")
        ).rows
        return Dictionary(uniqueKeysWithValues: found.compactMap { item in paths[item.endpoint].map { ($0, item.id) } })
    }

    @Test func `every answer of a hostile consumer ends in its state, and its attempt says what was seen`() throws {
        let installation = try Installation()
        let server = try HostileServer()
        defer { server.stop() }
        let connection = try installation.database.connect(role: "entitled_worker")
        var paths: [String: String] = [:]
        for item in Self.cases {
            let added = try EndpointTable.add(
                url: server.url(item.path), authorization: nil, environments: [], events: [], apps: [],
                sealer: installation.sealer, now: SystemClock().now(), on: connection)
            paths[added.id] = item.path
        }
        let worker = try RunningWorker(installation, timeout: .milliseconds(1500))
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 61)
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        try eventually("all were tried") {
            try installation.database.count("SELECT count(*) FROM entitled.delivery WHERE attempts = 1")
                == Int64(Self.cases.count)
        }
        let found = try deliveries(installation, paths)
        for item in Self.cases {
            let id = try #require(found[item.path])
            let shown = try #require(
                try DeliveryQuery.show(id, on: try installation.database.connect(role: "entitled_api")))
            let attempt = try #require(shown.attempts.first)
            #expect(shown.delivery.state == item.state, "\(item.path)")
            #expect(
                attempt.outcome == item.outcome.code && attempt.status == item.status, "\(item.path): \(attempt)")
            #expect(attempt.truncated == item.truncated, "\(item.path)")
            #expect(attempt.peer == "127.0.0.1" && attempt.host == "test", "\(item.path)")
            // What went well needs no head; of what did not, it is there as far as it came.
            #expect(attempt.head.isEmpty == (item.state == .delivered || item.status == nil), "\(item.path)")
            if let response = item.response { #expect(attempt.response == Array(response.utf8), "\(item.path)") }
            if item.truncated { #expect(attempt.response.count == 16 << 10) }
            #expect(!String(decoding: attempt.head, as: UTF8.self).contains("hunter2"))
        }
        // A worker is one sender, however many attempts it makes.
        #expect(try installation.database.count("SELECT count(*) FROM entitled.sender") == 1)
    }
}
