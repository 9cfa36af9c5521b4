import Base
import Daemon
import HTTP
import TestSupport
import Testing

/// A client and a hostile server for one test.
final class ClientFixture: Sendable {
    let server: HostileServer
    let client: HTTPClient
    let metrics = Metrics()

    /// - Parameter networks: what the client may reach beside the public internet.
    init(
        networks: [String] = ["127.0.0.0/8"], maxConnections: Int = 512,
        lookup: @escaping Resolver.Lookup = { _ in .notFound }
    ) throws {
        server = try HostileServer()
        let configuration = HTTPClientConfiguration(
            allowedNetworks: networks.compactMap { Network(parsing: $0) }, maxConnections: maxConnections)
        client = try HTTPClient(
            configuration: configuration, logger: .silent, metrics: metrics,
            resolver: Resolver(metrics: metrics, lookup: lookup))
        client.start()
    }

    deinit {
        client.stop()
        server.stop()
    }

    func send(
        _ path: String, method: String = "POST", headers: [(String, String)] = [], body: [UInt8] = Array("{}".utf8),
        timeout: Duration = .seconds(20)
    ) -> TransferOutcome {
        client.sendAndWait(
            OutgoingRequest(url: server.url(path), method: method, headers: headers, body: body, timeout: timeout))
    }
}

extension TransferOutcome {
    func response() throws -> OutgoingResponse {
        switch self {
        case .response(let response): return response
        case .failure(let failure): throw failure
        }
    }

    func failure() throws -> TransferFailure {
        guard case .failure(let failure) = self else { throw UnexpectedResponse() }
        return failure
    }

    struct UnexpectedResponse: Error {}
}

/// Collects outcomes from any thread.
final class Outcomes: Sendable {
    private let values = Monitor<[TransferOutcome]>([])

    var add: @Sendable (TransferOutcome) -> Void {
        { [self] outcome in values.change { $0.append(outcome) } }
    }

    /// Those that came, when there are so many or the time is over.
    func wait(_ count: Int, timeout: Duration = .seconds(30)) -> [TransferOutcome] {
        _ = values.wait(timeout: timeout) { $0.count >= count ? true : nil }
        return values.read { $0 }
    }
}
