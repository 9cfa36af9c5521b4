import Base
import HTTPClient
import Telemetry

/// Whether webhooks may go to a URL, judged when an endpoint is added. The sender judges again at every attempt.
enum EndpointAddress {
    /// The URL as it will be used.
    ///
    /// A name that does not resolve now is taken for `https:`: it may resolve tomorrow, and is vetted then. Throws
    /// `UsageError` for what is no such URL, `CommandFailure` for one that leads where nothing may be sent.
    ///
    /// - Parameter isProxied: whether a proxy resolves names, and judges them.
    static func check(_ text: String, allowed: [Network], isProxied: Bool = false) throws -> String {
        let url: WebhookURL
        do {
            url = try WebhookURL(parsing: text)
        } catch {
            throw UsageError("\(Terminal.harmless(text)) cannot be used: \(error)")
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
                throw CommandFailure(
                    "nothing may be sent to \(url.origin): \(reason) (see webhooks.allow_private_networks)")
            }
        case let failure where url.scheme == .http:
            throw CommandFailure(
                "http: is only for webhooks.allow_private_networks, and \(url.host) \(failure.fault): use https:")
        default:
            break
        }
        return url.text
    }
}

extension Resolution {
    /// Why there is no address.
    fileprivate var fault: String {
        switch self {
        case .addresses: "has addresses"
        case .notFound: "does not exist"
        case .temporarily: "cannot be looked up now"
        case .infrastructure(let reason): "cannot be looked up by this host (\(reason))"
        }
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
