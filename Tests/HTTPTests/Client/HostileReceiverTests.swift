import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// What consumers do that mean ill, or are broken: each has its outcome, in bounded time, and costs the others nothing.
///
/// Serialised: times are measured.
@Suite(.serialized)
struct HostileReceiverTests {
    enum Expected: Sendable, Equatable, CustomStringConvertible {
        case status(Int)
        case failure(TransferFailure.Kind)

        var description: String {
            switch self {
            case .status(let status): "status \(status)"
            case .failure(let kind): "failure \(kind.rawValue)"
            }
        }
    }

    private static let patience = Duration.milliseconds(1500)

    private static let cases: [(String, Expected)] = [
        ("drip-headers", .failure(.timeout)), ("drip", .failure(.timeout)), ("hang", .failure(.timeout)),
        ("endless-chunks", .status(200)), ("endless", .status(200)), ("huge", .status(200)),
        ("huge-headers", .failure(.tooLarge)), ("endless-headers", .failure(.tooLarge)),
        ("continue", .failure(.tooLarge)), ("close", .failure(.closed)), ("reset", .failure(.closed)),
        ("garbage", .failure(.notHTTP)), ("script/gzip", .status(200)), ("script/unknown-encoding", .status(200)),
        // This one libcurl decodes unasked; the limit of the body bounds it.
        ("script/transfer-gzip", .status(200)),
        ("script/http09", .failure(.notHTTP)), ("script/length-too-long", .failure(.closed)),
        ("script/length-too-short", .status(200)), ("script/length-negative", .failure(.notHTTP)),
        ("script/length-huge", .status(200)), ("script/lengths-differ", .status(200)),
        ("script/chunk-garbage", .failure(.closed)), ("script/chunk-overflow", .failure(.closed)),
        ("script/chunks-cut", .failure(.closed)), ("script/reset-after-response", .status(200)),
        ("script/reset-mid-body", .failure(.closed)), ("script/reset-mid-head", .failure(.closed)),
        ("script/metadata", .status(302)), ("script/204-with-body", .status(204)),
        ("script/304-with-body", .status(304)), ("script/999", .status(999)), ("script/099", .failure(.notHTTP)),
        ("script/000", .failure(.notHTTP)), ("script/2000", .failure(.notHTTP)),
        ("script/no-status", .failure(.notHTTP)), ("script/http3", .failure(.notHTTP)),
        ("script/non-ascii", .status(200)), ("script/nul", .failure(.notHTTP)), ("script/retry-afters", .status(503)),
        ("script/secrets", .status(500)), ("script/bare-lines", .status(200)),
    ]

    private static func seen(_ outcome: TransferOutcome) -> Expected {
        switch outcome {
        case .response(let response): .status(response.status)
        case .failure(let failure): .failure(failure.kind)
        }
    }

    @Test(arguments: cases)
    func `a hostile answer has its outcome, in time`(path: String, expected: Expected) throws {
        let fixture = try ClientFixture()
        // What ends by itself does so on a busy machine too, if later; for all of them the same time is too long.
        let patience = expected == .failure(.timeout) ? Self.patience : Self.patience * 2
        let outcome = fixture.send("/" + path, timeout: patience)
        #expect(Self.seen(outcome) == expected, "\(outcome)")
        let milliseconds =
            switch outcome {
            case .response(let response): response.milliseconds
            case .failure(let failure): failure.milliseconds
            }
        #expect(milliseconds < 2 * Self.patience.milliseconds)
        // Nothing of it is left over for the next request.
        let next = try fixture.send("/ok").response()
        #expect(next.status == 200 && next.body == Array("done".utf8))
        #expect(fixture.client.inFlight == 0)
    }

    @Test func `all of them at once delay no healthy request`() throws {
        let fixture = try ClientFixture()
        func slowest(_ count: Int) throws -> Int64 {
            try (0..<count).map { _ in try fixture.send("/ok").response().milliseconds }.max() ?? 0
        }
        let alone = try slowest(50)
        let hostile = Outcomes()
        for (path, _) in Self.cases + Self.cases {
            let request = OutgoingRequest(url: fixture.server.url("/" + path), timeout: Self.patience)
            fixture.client.submit(request, completion: hostile.add)
        }
        let beside = try slowest(100)
        // Those that hang or drip are open all the time.
        #expect(fixture.client.inFlight >= 6)
        #expect(beside < max(Self.patience.milliseconds / 3, 20 * alone), "\(alone) ms alone, \(beside) ms beside them")
        #expect(hostile.wait(2 * Self.cases.count).count == 2 * Self.cases.count)
    }

    /// A program that a test starts at that moment would keep the connection open after it is closed here.
    @Test func `a server of the tests leaves no connection to the programs that they start`() throws {
        let fixture = try ClientFixture()
        let request = OutgoingRequest(url: fixture.server.url("/hang"), timeout: Self.patience)
        fixture.client.submit(request, completion: Outcomes().add)
        #expect(fixture.server.waitFor(1, "/hang"))
        #expect(fixture.server.inheritable == 0)
    }

    @Test func `what is compressed stays so`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/script/gzip").response()
        #expect(response.body.count == 2010 && response.body.prefix(2) == [0x1f, 0x8b])
    }

    @Test func `a redirect into the cloud's metadata is an answer like others`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/script/metadata").response()
        #expect(response.status == 302)
        #expect(response.trace.head.value(of: "location") == "http://169.254.169.254/latest/meta-data/")
        #expect(fixture.server.requests.count == 1)
    }

    @Test func `of several values of retry-after the first counts`() throws {
        let fixture = try ClientFixture()
        #expect(try fixture.send("/script/retry-afters").response().retryAfter == "7")
    }

    @Test func `the head is kept without what may be a secret`() throws {
        let fixture = try ClientFixture()
        let response = try fixture.send("/script/secrets").response()
        #expect(
            response.trace.head.text == """
                HTTP/1.1 500 Oops
                Set-Cookie: [left out]
                X-Auth-Token: [left out]
                X-Request-Id: 17
                  folded
                Content-Length: 4
                """)
        #expect(response.trace.head.value(of: "x-request-id") == "17")
    }

    @Test func `no byte of a head steers a terminal`() throws {
        let fixture = try ClientFixture()
        let head = try fixture.send("/script/non-ascii").response().trace.head
        #expect(head.text == "HTTP/1.1 200 OK\nX-Name: ??(??\nContent-Length: 0")
        #expect(head.value(of: "X-NAME") == "??(??")
    }

    @Test func `what came before a response was cut off is kept`() throws {
        let fixture = try ClientFixture()
        for path in ["/script/length-too-long", "/script/reset-mid-body"] {
            let failure = try fixture.send(path).failure()
            #expect(failure.status == 200 && failure.body == Array("done".utf8))
            #expect(failure.trace.head.text.hasPrefix("HTTP/1.1 200 OK\nContent-Length: "))
        }
        let dripped = try fixture.send("/drip", timeout: .milliseconds(300)).failure()
        #expect(dripped.status == 200 && dripped.kind == .timeout && !dripped.body.isEmpty)
    }
}
