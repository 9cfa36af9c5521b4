import Base
import Daemon

/// Whether webhooks may go to a URL now, by the addresses of its name: for the command line on the host, which may know them.
package struct LookedUpAddress: Sendable {
    private let address: WebhookAddress
    private let makeResolver: @Sendable () -> Resolver

    /// - Parameters:
    ///   - allowed: what the configuration allows beside the public internet.
    ///   - isProxied: whether a proxy resolves names, and judges them.
    package init(allowed: [Network] = [], isProxied: Bool = false) {
        self.init(allowed: allowed, isProxied: isProxied) { Resolver(metrics: Metrics(), allowedNetworks: allowed) }
    }

    init(allowed: [Network] = [], isProxied: Bool = false, resolver: @escaping @Sendable () -> Resolver) {
        address = WebhookAddress(allowed: allowed, isProxied: isProxied)
        makeResolver = resolver
    }

    /// Judges a URL, and looks its name up, for at most some 3 s.
    ///
    /// A name that does not resolve now is taken for `https:`, on a port for HTTP: it may resolve tomorrow, and is vetted then.
    package func judge(_ text: String) -> WebhookAddress.Judgement {
        let url: OutgoingURL
        switch WebhookAddress.parsed(text) {
        case .failure(let flaw): return .malformed("\(flaw)")
        case .success(let parsed): url = parsed
        }
        guard !address.isProxied, url.literalAddress == nil else { return address.judge(url) }
        let resolver = makeResolver()
        resolver.start()
        defer { resolver.stop() }
        switch resolver.resolveAndWait(url.host) {
        case .addresses(let addresses):
            return address.judgement(address.policy.verdict(for: url, at: addresses), url, isOfNetworks: true)
        case let failure where url.scheme == .http:
            return .unresolved(host: url.host, fault: failure.fault)
        case let failure:
            // Once the name resolves, the port could be right only in a network that is allowed; then it can be added.
            let judgement = address.judgement(address.policy.verdict(forPortOf: url), url, isOfNetworks: false)
            guard case .usable(let text, _) = judgement else { return judgement }
            return .usable(
                text,
                warning: "\(url.host) \(failure.fault); until it has an address, webhooks wait and are tried again")
        }
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
