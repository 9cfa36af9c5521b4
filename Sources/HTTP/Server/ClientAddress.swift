/// The client address of a request, as limits count it: an IPv4 address, or the leading 64 bits of an IPv6 address,
/// since one household or host has all addresses of a /64.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress

    package init(_ address: IPAddress) {
        if case .v6(let high, _) = address.unmapped {
            self.address = .v6(high: high, low: 0)
        } else {
            self.address = address.unmapped
        }
    }

    /// Of IPv6 the leading half alone.
    package var ip: IPAddress { address }

    /// Whether it is of this host or of a private network, where proxies are.
    package var isLocal: Bool { TrustedProxies.isLocal(address) }

    package var description: String {
        if case .v6 = address { "\(address)/64" } else { "\(address)" }
    }
}

/// The proxies whose `X-Forwarded-For` is confirmed.
package struct TrustedProxies: Sendable {
    private let networks: [Network]

    /// This host. Operators name all other networks of their proxies: Docker, Kubernetes and balancers that pass on TCP
    /// put a private address of their own in place of the client's, and the header is then as the client wrote it.
    package static let standard = ["127.0.0.0/8", "::1/128"]
    /// Loopback, private, link-local, and what carriers and clouds share (RFC 6890): such an address may
    /// stand for any number of clients.
    private static let local = [
        "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10", "::1/128",
        "fc00::/7", "fe80::/10",
    ].compactMap(Network.init(parsing:))
    /// Hops that are read; longer chains of proxies do not occur.
    private static let mostHops = 16

    /// - Parameter ranges: in CIDR notation; what is no range is passed over.
    package init(_ ranges: [String] = TrustedProxies.standard) {
        networks = ranges.compactMap(Network.init(parsing:))
    }

    /// The address of the client: the peer's, or, where the peer is a trusted proxy, the right-most of
    /// `X-Forwarded-For` that is not trusted. Nil where that is a local address which may stand for many clients: the request
    /// names this host by a public name, so that something between passed it on.
    ///
    /// - Parameter peer: numeric.
    package func client(_ head: HTTPRequestHead, peer: String) -> ClientAddress? {
        guard let sender = IPAddress(parsing: peer)?.unmapped else { return nil }
        guard trusts(sender) else { return TrustedProxies.distinct(sender, head) }
        let hops = TrustedProxies.hops(head)
        guard !hops.isEmpty else { return TrustedProxies.isNamedByAddress(head) ? ClientAddress(sender) : nil }
        for hop in hops {
            // Text that is no address was not written by a proxy that is known here.
            guard let address = TrustedProxies.address(hop) else { return nil }
            if !trusts(address) { return TrustedProxies.distinct(address, head) }
        }
        return nil
    }

    private func trusts(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// A local address is that of one client where the request names this host by an address, as what asks it directly does.
    private static func distinct(_ address: IPAddress, _ head: HTTPRequestHead) -> ClientAddress? {
        let isShared = isLocal(address) && !isNamedByAddress(head)
        return isShared ? nil : ClientAddress(address)
    }

    fileprivate static func isLocal(_ address: IPAddress) -> Bool { local.contains { $0.contains(address) } }

    private static func isNamedByAddress(_ head: HTTPRequestHead) -> Bool {
        guard let host = head.header("host") else { return false }
        return host == "localhost" || host.hasPrefix("localhost:") || address(host[...]) != nil
    }

    /// From the nearest hop on: each proxy adds the address that it saw at the end.
    private static func hops(_ head: HTTPRequestHead) -> ArraySlice<Substring> {
        guard head.header("x-forwarded-for") != nil else { return [] }
        let lines = head.headers.filter { $0.name == "x-forwarded-for" }.map(\.value).joined(separator: ",")
        return lines.split(separator: ",").reversed().prefix(mostHops)
    }

    /// Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func address(_ text: Substring) -> IPAddress? {
        var text = text.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if text.first == "[", let end = text.firstIndex(of: "]") {
            text = text[text.index(after: text.startIndex)..<end]
        } else if let colon = text.firstIndex(of: ":"), text.lastIndex(of: ":") == colon, text.contains(".") {
            text = text[..<colon]
        }
        return IPAddress(parsing: String(text))?.unmapped
    }
}
