import Base
import Glibc
import StoreSimulator
import TestSupport
import Testing

/// One trace from Apple's request to the consumer's answer, with real processes.
@Suite(.enabled(if: Program.isBuilt, "skipped: the program is not built"))
struct TracingTests {
    private func start() -> StoreNotification {
        var life = SubscriberLife(app: Site.app, seed: 5, number: 1)
        return life.start(at: Site.start)
    }

    private func telemetry(_ receiver: OTLPReceiver) -> JSON {
        .object([
            "otlp_url": .string(receiver.url), "sample": .double(1),
            "headers": .object(["x-key": .string("hunter2")]),
        ])
    }

    @Test func `one id joins ingest, application and every attempt of delivery`() throws {
        let (receiver, consumer) = (try OTLPReceiver(), try Consumer { _, before in .status(before == 0 ? 500 : 200) })
        defer {
            receiver.stop()
            consumer.stop()
        }
        let site = try Site(
            TestCluster.shared.makeMigratedDatabase(),
            [
                "telemetry": telemetry(receiver),
                "webhooks": .object([
                    "allow_private_networks": .strings(["127.0.0.0/8"]), "retry_schedule": .strings(["1s", "1s"]),
                ]),
            ])
        let endpoint = try site.addEndpoint(consumer).id
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        let notification = start()
        #expect(try site.post(notification, to: ingest.address("ingest")) == 200)
        let requests = try consumer.wait(2)
        let trace = notification.uuid.replacing("-", with: "").lowercased()
        let parents = requests.compactMap { $0.headers["traceparent"] }
        #expect(parents.count == 2 && parents.allSatisfy { $0.hasPrefix("00-\(trace)-") && $0.hasSuffix("-01") })
        #expect(Set(parents).count == 2)
        #expect(requests.allSatisfy { $0.headers["tracestate"] == nil })
        try eventually("all spans have arrived: \(receiver.spans.map(\.name))") { receiver.spans.count == 6 }
        for program in [ingest, worker] {
            program.kill(SIGTERM)
            #expect(try program.wait() == 0)
        }
        let spans = receiver.spans
        #expect(receiver.mistakes == [] && spans.count == 6)
        #expect(Set(spans.map(\.trace)) == [trace])
        #expect(receiver.requests.allSatisfy { $0.headers["x-key"] == "hunter2" })
        let root = try #require(spans.first { $0.name == "POST /apple/notifications" })
        #expect(root.parent == nil && root.kind == 2 && root.service == "entitled-ingest")
        for name in ["verify", "store", "apply"] {
            let span = spans.first { $0.name == name }
            #expect(span?.parent == root.id && span?.kind == 1, "\(name)")
        }
        let apply = try #require(spans.first { $0.name == "apply" })
        let attempts = spans.filter { $0.name == "POST" }
        #expect(attempts.map { "00-\($0.trace)-\($0.id)-01" } == parents)
        #expect(attempts.allSatisfy { $0.parent == apply.id && $0.kind == 3 && $0.service == "entitled-worker" })
        #expect(attempts.map(\.hasFailed) == [true, false])
        #expect(attempts.map { $0.attributes["http.response.status_code"] } == ["500", "200"])
        #expect(attempts.map { $0.attributes["http.request.resend_count"] } == [nil, "1"])
        #expect(attempts.allSatisfy { $0.attributes["server.address"] == "127.0.0.1" })
        #expect(attempts.allSatisfy { $0.attributes["entitled.endpoint.id"] == endpoint })
        // No customer, no path, no key.
        let texts = spans.flatMap { $0.attributes.values } + [ingest.log, worker.log]
        for text in texts {
            #expect(!text.contains("/hooks") && !text.contains("hunter2") && !text.contains("RCAnonymousID"))
        }
    }

    @Test func `without a receiver webhooks name the trace all the same, and a dead delivery's line does`() throws {
        let consumer = try Consumer { _, _ in .status(400, headers: ["webhook-delivery": "abort"]) }
        defer { consumer.stop() }
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        _ = try site.addEndpoint(consumer)
        let (ingest, worker) = (try site.start("ingest"), try site.start("worker"))
        let notification = start()
        #expect(try site.post(notification, to: ingest.address("ingest")) == 200)
        let trace = notification.uuid.replacing("-", with: "").lowercased()
        let header = try #require(try consumer.wait(1).first?.headers["traceparent"])
        #expect(header.hasPrefix("00-\(trace)-") && header.hasSuffix("-00"))
        try eventually("the delivery is dead: \(worker.log)") {
            worker.logLines.contains {
                $0.contains("delivery declared dead") && $0.contains("\"trace_id\":\"\(trace)\"")
            }
        }
        for program in [ingest, worker] { program.kill(SIGTERM) }
    }

    @Test func `a caller who chooses the id of a trace does not choose that it is recorded`() throws {
        let receiver = try OTLPReceiver()
        defer { receiver.stop() }
        let site = try Site(
            TestCluster.shared.makeMigratedDatabase(),
            [
                "telemetry": .object([
                    "otlp_url": .string(receiver.url), "sample": .double(0.000_001),
                ]),
                "api": .object([
                    "listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_a_key_for_tests_one"]),
                ]),
            ])
        let api = try site.start("api")
        let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
        for _ in 0..<20 {
            let answer = HTTPCall.send(
                "GET", "/v1/subscribers/robin",
                headers: [
                    "Authorization": "Bearer sk_a_key_for_tests_one",
                    "traceparent": "00-ffffffffffffffffffffffffffffffff-00f067aa0ba902b7-01",
                ], to: port)
            #expect(answer.status < 300)
        }
        api.kill(SIGTERM)
        #expect(try api.wait() == 0)
        #expect(receiver.spans.isEmpty)
    }

    @Test func `a call of the API is in its caller's trace, and its path is nowhere`() throws {
        let receiver = try OTLPReceiver()
        defer { receiver.stop() }
        let site = try Site(
            TestCluster.shared.makeMigratedDatabase(),
            [
                "telemetry": telemetry(receiver),
                "api": .object([
                    "listen": .string("127.0.0.1:0"), "secret_keys": .strings(["sk_a_key_for_tests_one"]),
                ]),
            ])
        let api = try site.start("api")
        let port = try #require(try api.address("api").split(separator: ":").last.flatMap { UInt16($0) })
        let trace = TraceID.random().text
        func get(_ headers: [String: String]) -> Int {
            HTTPCall.send(
                "GET", "/v1/subscribers/robin@example.com?a=b",
                headers: headers.merging(["Authorization": "Bearer sk_a_key_for_tests_one"]) { first, _ in first },
                to: port
            ).status
        }
        #expect(get(["traceparent": "00-\(trace)-00f067aa0ba902b7-00"]) < 300)
        #expect(get(["traceparent": "00-\(trace)-0000000000000000-01"]) < 300)
        try eventually("both spans have arrived") { receiver.spans.count == 2 }
        api.kill(SIGTERM)
        #expect(try api.wait() == 0)
        let spans = receiver.spans
        #expect(
            receiver.mistakes == []
                && spans.map(\.name) == Array(repeating: "GET /v1/subscribers/{app_user_id}", count: 2))
        #expect(spans[0].trace == trace && spans[0].parent == "00f067aa0ba902b7" && spans[0].kind == 2)
        #expect(spans[1].trace != trace && spans[1].parent == nil)
        #expect(receiver.requests.allSatisfy { !String(decoding: $0.body, as: UTF8.self).contains("robin") })
    }

    @Test func `a receiver that hangs delays neither answers nor the end of the process`() throws {
        let receiver = try OTLPReceiver { _ in .hold }
        defer { receiver.stop() }
        let site = try Site(TestCluster.shared.makeMigratedDatabase(), ["telemetry": telemetry(receiver)])
        let ingest = try site.start("ingest")
        let address = try ingest.address("ingest")
        #expect(try site.post(start(), to: address) == 200)
        try eventually("it hangs") { receiver.requests.count == 1 }
        let begun = ContinuousClock.now
        #expect(try site.post(start(), to: address) == 200)
        #expect(.now - begun < .seconds(3))
        ingest.kill(SIGTERM)
        let ended = ContinuousClock.now
        #expect(try ingest.wait() == 0)
        #expect(.now - ended < .seconds(5))
    }
}
