import Base
import Daemon

/// Whether webhooks may go to a URL, judged when an endpoint is added or changed. The sender judges again at every attempt.
package struct WebhookAddress: Sendable {
    package enum Judgement: Sendable, Equatable {
        /// The URL as it will be used.
        ///
        /// - Parameter warning: what is wrong with the name for now, as the end of a sentence.
        case usable(String, warning: String?)
        /// No URL that webhooks can be sent to, with the reason.
        case malformed(String)
        /// One that leads where nothing may be sent.
        ///
        /// - Parameters:
        ///   - origin: scheme, host and port.
        ///   - isOfNetworks: whether the configuration could allow it.
        case refused(origin: String, reason: String, isOfNetworks: Bool)
        /// A name of plain HTTP that has no address now.
        case unresolved(host: String, fault: String)
    }

    private let allowed: [Network]
    private let isProxied: Bool
    private let tellsAddresses: Bool
    private let names: SharedResolver

    /// - Parameters:
    ///   - allowed: what the configuration allows beside the public internet.
    ///   - isProxied: whether a proxy resolves names, and judges them.
    ///   - tellsAddresses: whether a refusal says where a name leads. To those who are not on the host it does not: they could
    ///     ask for the addresses of the network behind it.
    package init(allowed: [Network] = [], isProxied: Bool = false, tellsAddresses: Bool = false) {
        self.init(
            allowed: allowed, isProxied: isProxied, tellsAddresses: tellsAddresses,
            resolver: { Resolver(metrics: Metrics(), allowedNetworks: allowed) })
    }

    init(
        allowed: [Network] = [], isProxied: Bool = false, tellsAddresses: Bool,
        resolver: @escaping @Sendable () -> Resolver
    ) {
        (self.allowed, self.isProxied, self.tellsAddresses) = (allowed, isProxied, tellsAddresses)
        names = SharedResolver(make: resolver)
    }

    /// The URL as it will be used; nil: it is none.
    package static func normalised(_ text: String) -> String? { (try? OutgoingURL(parsing: text))?.text }

    /// Whether two URLs lead to the same scheme, host and port.
    package static func haveOneOrigin(_ one: String, _ other: String) -> Bool {
        guard let one = try? OutgoingURL(parsing: one), let other = try? OutgoingURL(parsing: other) else {
            return false
        }
        return one.origin == other.origin
    }

    /// Whether judging a URL may have to wait for a name.
    package func needsName(of text: String) -> Bool {
        guard !isProxied, let url = try? OutgoingURL(parsing: text) else { return false }
        return url.literalAddress == nil
    }

    /// Judges a URL, and looks its name up, for at most some 3 s. All judgements by this value, and by copies of it, share the
    /// threads that look up, and what they know.
    ///
    /// A name that does not resolve now is taken for `https:`, on a port for HTTP: it may resolve tomorrow, and is vetted then.
    package func judge(_ text: String) -> Judgement {
        let url: OutgoingURL
        do {
            url = try OutgoingURL(parsing: text)
        } catch {
            return .malformed("\(error)")
        }
        let policy = AddressPolicy(allowedNetworks: allowed)
        func judged(_ verdict: AddressPolicy.Verdict, isOfNetworks: Bool) -> Judgement? {
            guard case .refused(let reason) = verdict else { return nil }
            return .refused(origin: url.origin, reason: reason, isOfNetworks: isOfNetworks)
        }
        if isProxied {
            return judged(policy.verdictBehindProxy(for: url), isOfNetworks: false)
                ?? .usable(url.text, warning: nil)
        }
        let resolution: Resolution =
            if let address = url.literalAddress {
                .addresses([address])
            } else {
                names.resolver.resolveAndWait(url.host)
            }
        switch resolution {
        case .addresses(let addresses):
            guard let refusal = judged(policy.verdict(for: url, at: addresses), isOfNetworks: true) else {
                return .usable(url.text, warning: nil)
            }
            guard !tellsAddresses, url.literalAddress == nil else { return refusal }
            return .refused(
                origin: url.origin, reason: WebhookAddress.reason(policy, url, addresses), isOfNetworks: true)
        case let failure where url.scheme == .http:
            return .unresolved(host: url.host, fault: failure.fault)
        case let failure:
            // Once the name resolves, the port could be right only in a network that is allowed; then it can be added.
            return judged(policy.verdict(forPortOf: url), isOfNetworks: false)
                ?? .usable(
                    url.text,
                    warning: "\(url.host) \(failure.fault); until it has an address, webhooks wait and are tried again")
        }
    }

    /// Why a name is refused, without its addresses.
    private static func reason(_ policy: AddressPolicy, _ url: OutgoingURL, _ addresses: [IPAddress]) -> String {
        if addresses.contains(where: { policy.verdict(for: $0) != .allowed }) {
            return "the name leads to an address that is not public"
        }
        if case .refused(let reason) = policy.verdict(forPortOf: url) { return reason }
        return addresses.isEmpty
            ? "the name has no address"
            : "plain http is only for allowed private networks, and the name is in none: use https"
    }
}

/// A resolver that starts with its first question, and stops with the last value that has it.
private final class SharedResolver: Sendable {
    private let make: @Sendable () -> Resolver
    private let made = Monitor<Resolver?>(nil)

    init(make: @escaping @Sendable () -> Resolver) { self.make = make }

    deinit { made.read { $0 }?.stop() }

    var resolver: Resolver {
        made.change { [make] made in
            if let made { return made }
            let new = make()
            new.start()
            made = new
            return new
        }
    }
}

extension WebhookAddress.Judgement {
    /// Why the URL cannot be used, as the end of a sentence; nil: it can.
    package var objection: String? {
        switch self {
        case .usable: nil
        case .malformed(let reason): "the URL cannot be used: \(reason)"
        case .refused(let origin, let reason, let isOfNetworks):
            "webhooks may not be sent to \(origin): \(reason)"
                + (isOfNetworks ? " (see webhooks.allow_private_networks)" : "")
        case .unresolved(let host, let fault):
            "http: is only for webhooks.allow_private_networks, and \(host) \(fault): use https:"
        }
    }
}

extension WebhookAddress.Judgement {
    /// The same as a sentence of its own.
    package var sentence: String? {
        objection.map { $0.prefix(1).uppercased() + $0.dropFirst() + "." }
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
