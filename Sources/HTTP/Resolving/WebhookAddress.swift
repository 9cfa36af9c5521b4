/// Whether webhooks may go to a URL, as far as the URL says so itself: no name is looked up. The sender judges the addresses at
/// every attempt.
///
/// An operator who is not on the host is told the same of every name: from an answer that depended on addresses, or waited for
/// them, they would learn which names the network behind it has. On the host `LookedUpAddress` says more.
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

    let policy: AddressPolicy
    let isProxied: Bool

    /// - Parameters:
    ///   - allowed: what the configuration allows beside the public internet.
    ///   - isProxied: whether a proxy resolves names, and judges them.
    package init(allowed: [Network] = [], isProxied: Bool = false) {
        policy = AddressPolicy(allowedNetworks: allowed)
        self.isProxied = isProxied
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

    /// Judges a URL at once.
    package func judge(_ text: String) -> Judgement {
        switch WebhookAddress.parsed(text) {
        case .failure(let flaw): .malformed("\(flaw)")
        case .success(let url): judge(url)
        }
    }

    func judge(_ url: OutgoingURL) -> Judgement {
        if isProxied { return judgement(policy.verdictBehindProxy(for: url), url, isOfNetworks: false) }
        if let address = url.fixedAddress {
            return judgement(policy.verdict(for: url, at: [address]), url, isOfNetworks: true)
        }
        return judgement(policy.verdictOfName(in: url), url, isOfNetworks: true)
    }

    func judgement(_ verdict: AddressPolicy.Verdict, _ url: OutgoingURL, isOfNetworks: Bool) -> Judgement {
        guard case .refused(let reason) = verdict else { return .usable(url.text, warning: nil) }
        return .refused(origin: url.origin, reason: reason, isOfNetworks: isOfNetworks)
    }

    static func parsed(_ text: String) -> Result<OutgoingURL, URLRejection> {
        do throws(URLRejection) {
            return .success(try OutgoingURL(parsing: text))
        } catch {
            return .failure(error)
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
