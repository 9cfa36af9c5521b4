import AppStore
import Base
import Daemon
import HTTP

/// Whether Apple's certificates are revoked: what is known of it in this process, and who asks.
package struct RevocationServices: Sendable {
    private let cache: RevocationCache
    private let mode: RevocationMode
    /// In the order in which they start.
    package let services: [any Service]

    /// Nil where no responder is to be asked.
    ///
    /// - Parameter file: where answers are kept between two lives of a process.
    /// - Throws: where the system gives no descriptors.
    package init?(_ mode: RevocationMode, file: String, logger: Logger, metrics: Metrics) throws {
        guard mode != .off else { return nil }
        self.mode = mode
        // While an answer is required, every minute without one refuses genuine notifications.
        let memory = RevocationFile(path: file, logger: logger)
        cache = RevocationCache(longestRetry: .seconds(mode == .hard ? 60 : 3600), remembered: memory.read())
        var configuration = HTTPClientConfiguration(maxConnections: 4, responseLimit: 16 << 10)
        // Responders are asked by plain HTTP (RFC 6960 appendix A): their answers are signed.
        configuration.allowsPlainHTTP = true
        // With metrics of its own, which are not exported: those of the process are about webhooks.
        let client = try HTTPClient(configuration: configuration, logger: logger, metrics: Metrics())
        services = [
            ResponderClient(client: client),
            RevocationChecker(
                cache: cache, transport: RevocationServices.transport(client), remember: memory.write, logger: logger,
                metrics: metrics),
        ]
    }

    /// For data from outside, which can be sent again.
    package var policyOfAdmission: RevocationPolicy { RevocationPolicy(cache: cache, requiresAnswer: mode == .hard) }

    /// For data that was taken already: what was accepted once must not wait for an answer.
    package var policyInside: RevocationPolicy { RevocationPolicy(cache: cache, requiresAnswer: false) }

    /// Questions by `POST` (RFC 6960 appendix A.1).
    private static func transport(_ client: HTTPClient) -> RevocationChecker.Transport {
        { url, body, answer in
            let request = OutgoingRequest(
                url: url,
                headers: [
                    ("content-type", "application/ocsp-request"), ("accept", "application/ocsp-response"),
                ], body: body, timeout: .seconds(10))
            client.submit(request) { outcome in
                guard case .response(let response) = outcome, response.status == 200, !response.truncated else {
                    answer(nil)
                    return
                }
                answer(response.body)
            }
        }
    }
}

/// The transport as a service. Ends first, so that nothing is in flight when the watch ends.
private struct ResponderClient: Service {
    let name = "ocsp-client"
    let client: HTTPClient

    func start() { client.start() }
    func drain(until deadline: ContinuousClock.Instant) { client.stop() }
}
