import Base
import CLI
import Daemon
import HTTP

/// Whether webhooks may go to a URL, judged when an endpoint is added. The sender judges again at every attempt.
enum EndpointAddress {
    /// The URL as it will be used.
    ///
    /// A name that does not resolve now is taken for `https:`, on a port for HTTP: it may resolve tomorrow, and is vetted then. Throws
    /// `UsageError` for what is no such URL, `CommandFailure` for one that leads where nothing may be sent.
    ///
    /// - Parameters:
    ///   - isProxied: whether a proxy resolves names, and judges them.
    ///   - warn: takes a warning about a URL that can be used, and leads nowhere now.
    static func check(
        _ text: String, allowed: [Network], isProxied: Bool = false, warn: (String) -> Void = { _ in }
    ) throws -> String {
        let url: OutgoingURL
        do {
            url = try OutgoingURL(parsing: text)
        } catch {
            throw UsageError("\(Terminal.harmless(text)) cannot be used: \(error)")
        }
        let policy = AddressPolicy(allowedNetworks: allowed)
        if isProxied {
            if case .refused(let reason) = policy.verdictBehindProxy(for: url) {
                throw CommandFailure("webhooks may not be sent to \(url.origin): \(reason)")
            }
            return url.text
        }
        switch Resolver.lookUpOnce(url.host, allowed) {
        case .addresses(let addresses):
            if case .refused(let reason) = policy.verdict(for: url, at: addresses) {
                throw CommandFailure(
                    "webhooks may not be sent to \(url.origin): \(reason) (see webhooks.allow_private_networks)")
            }
        case let failure where url.scheme == .http:
            throw CommandFailure(
                "http: is only for webhooks.allow_private_networks, and \(url.host) \(failure.fault): use https:")
        case let failure:
            // Once the name resolves, the port could be right only in a network that is allowed; then it can be added.
            if case .refused(let reason) = policy.verdict(forPortOf: url) {
                throw CommandFailure("webhooks may not be sent to \(url.origin): \(reason)")
            }
            warn("warning: \(url.host) \(failure.fault); until it has an address, webhooks wait and are tried again")
        }
        return url.text
    }

    /// A warning where the query of a URL seems to hold a secret: URLs are stored and shown as they are.
    static func warning(about url: String) -> String? {
        let names = url.drop { $0 != "?" }.dropFirst().split(separator: "&").map {
            $0.prefix { $0 != "=" }.lowercased()
        }
        let words = ["token", "key", "secret", "password", "auth", "signature", "sig"]
        guard let name = names.first(where: { name in words.contains { name.contains($0) } }) else { return nil }
        return
            "warning: the URL's query has \"\(Terminal.harmless(name))\"; URLs are stored and shown as they are, while"
            + " --authorization and --header are sealed"
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
