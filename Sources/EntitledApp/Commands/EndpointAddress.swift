import Base
import HTTPClient
import Telemetry

/// Whether webhooks may go to a URL, judged when an endpoint is added. The sender judges again at every attempt.
enum EndpointAddress {
    /// The URL as it will be used.
    ///
    /// A name that does not resolve now is taken for `https:`: it may resolve tomorrow, and is vetted then.
    ///
    /// - Parameter isProxied: whether a proxy resolves names, and judges them.
    static func check(_ text: String, allowed: [Network], isProxied: Bool = false) throws -> String {
        let url: WebhookURL
        do {
            url = try WebhookURL(parsing: text)
        } catch {
            throw CommandFailure("this URL cannot be used: \(error)")
        }
        let policy = AddressPolicy(allowedNetworks: allowed)
        if isProxied {
            if case .refused(let reason) = policy.verdictBehindProxy(for: url) {
                throw CommandFailure("nothing may be sent to \(url.origin): \(reason)")
            }
            return url.text
        }
        switch Resolver.lookUpOnce(url.host, allowed) {
        case .addresses(let addresses):
            if case .refused(let reason) = policy.verdict(for: url, at: addresses) {
                throw CommandFailure("nothing may be sent to \(url.origin): \(reason)")
            }
        case let failure where url.scheme == .http:
            throw CommandFailure("\(url.host) cannot be looked up, so http: is not allowed to it: \(failure)")
        default:
            break
        }
        return url.text
    }
}

extension Resolver {
    fileprivate static func lookUpOnce(_ host: String, _ allowed: [Network]) -> Resolution {
        let resolver = Resolver(metrics: Metrics(), allowedNetworks: allowed)
        resolver.start()
        defer { resolver.stop() }
        return resolver.resolveAndWait(host)
    }
}
