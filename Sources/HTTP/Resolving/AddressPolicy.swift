/// Where outgoing requests may go: only to addresses of the public internet, unless the operator allows a network.
///
/// Pure. Denies by default: of IPv6 only global unicast (`2000::/3`) without its special blocks is public; of IPv4
/// everything outside the IANA special-purpose registry (RFC 6890 and successors).
package struct AddressPolicy: Sendable {
    package enum Verdict: Sendable, Equatable {
        case allowed
        /// In words for people, naming the address and the range.
        case refused(String)
    }

    private let allowedNetworks: [Network]
    private let allowsPlainHTTP: Bool

    /// - Parameters:
    ///   - allowedNetworks: what the operator allows beside the public internet (`allow_private_networks`).
    ///   - allowsPlainHTTP: whether plain HTTP may go wherever HTTPS may.
    package init(allowedNetworks: [Network], allowsPlainHTTP: Bool = false) {
        self.allowedNetworks = allowedNetworks
        self.allowsPlainHTTP = allowsPlainHTTP
    }

    /// What the address means is judged, not how it is spelled: an IPv4-mapped address and one behind the well-known
    /// NAT64 prefix count as the IPv4 address that is reached through them.
    package func verdict(for address: IPAddress) -> Verdict {
        if explicitlyAllows(address) { return .allowed }
        let meant = AddressPolicy.meaning(of: address)
        let reason =
            switch meant {
            case .v4: AddressPolicy.special4.first { $0.network.contains(meant) }?.name
            case .v6: AddressPolicy.reason6(meant)
            }
        guard let reason else { return .allowed }
        let spelled = address == meant ? "\(address)" : "\(address) (that is \(meant))"
        return .refused("\(spelled) is not public: \(reason)")
    }

    /// Whether the address is inside a network that the operator named; only such ones are reached by plain HTTP.
    package func explicitlyAllows(_ address: IPAddress) -> Bool {
        let unmapped = address.unmapped
        let meant = AddressPolicy.meaning(of: address)
        return allowedNetworks.contains { $0.contains(meant) || $0.contains(unmapped) }
    }

    /// Whether a request to this URL may go to these addresses, all that its name resolves to: one that is refused
    /// refuses all, since a name that also points into a private network is not to be trusted. Plain HTTP goes only
    /// into networks that the operator named, unless the policy allows it.
    package func verdict(for url: OutgoingURL, at addresses: [IPAddress]) -> Verdict {
        for address in addresses {
            if case .refused(let reason) = verdict(for: address) { return .refused(reason) }
            if case .refused(let reason) = verdict(forPortOf: url), !explicitlyAllows(address) {
                return .refused(reason)
            }
            if url.scheme == .http, !allowsPlainHTTP, !explicitlyAllows(address) {
                return .refused("plain http is only for allowed private networks, and \(address) is in none: use https")
            }
        }
        return addresses.isEmpty ? .refused("the name has no address") : .allowed
    }

    /// Whether the port is one that requests go to outside the networks that the operator named; of a URL whose addresses are
    /// not known.
    package func verdict(forPortOf url: OutgoingURL) -> Verdict {
        guard BlockedPorts.contains(url.port) else { return .allowed }
        return .refused("port \(url.port) is for another service than HTTP")
    }

    /// Whether a request may be handed to a proxy, which resolves the name and judges its addresses. An address is judged
    /// here, as is the port.
    package func verdictBehindProxy(for url: OutgoingURL) -> Verdict {
        if let address = url.literalAddress { return verdict(for: url, at: [address]) }
        if case .refused(let reason) = verdict(forPortOf: url) { return .refused(reason) }
        guard url.scheme == .https || allowsPlainHTTP else {
            return .refused("plain http is only for addresses in allowed networks where a proxy resolves names")
        }
        return .allowed
    }

    /// What can be said of a name without its addresses. Where the operator named networks, the name may lead into one, in which
    /// plain HTTP and every port are allowed.
    package func verdictOfName(in url: OutgoingURL) -> Verdict {
        guard allowedNetworks.isEmpty else { return .allowed }
        if case .refused(let reason) = verdict(forPortOf: url) { return .refused(reason) }
        guard url.scheme == .https || allowsPlainHTTP else {
            return .refused("plain http is only for allowed private networks, of which there are none: use https")
        }
        return .allowed
    }

    private static func meaning(of address: IPAddress) -> IPAddress {
        address.translated ?? address.unmapped
    }

    // MARK: - Tables

    private struct Special: Sendable {
        let network: Network
        let name: String

        init(_ network: Network, _ name: String) {
            self.network = network
            self.name = "\(name) (\(network))"
        }
    }

    private static func reason6(_ address: IPAddress) -> String? {
        if !globalUnicast.contains(address) {
            return outside6.first { $0.network.contains(address) }?.name ?? "not global unicast (\(globalUnicast))"
        }
        return special6.first { $0.network.contains(address) }?.name
    }

    /// IANA IPv4 Special-Purpose Address Registry, multicast and class E.
    private static let special4 = [
        Special(.v4(0, 0, 0, 0, prefix: 8), "this host"),
        Special(.v4(10, 0, 0, 0, prefix: 8), "private"),
        Special(.v4(100, 64, 0, 0, prefix: 10), "shared by a carrier"),
        Special(.v4(127, 0, 0, 0, prefix: 8), "loopback"),
        Special(.v4(169, 254, 0, 0, prefix: 16), "link-local"),
        Special(.v4(172, 16, 0, 0, prefix: 12), "private"),
        Special(.v4(192, 0, 0, 0, prefix: 24), "protocol assignments"),
        Special(.v4(192, 0, 2, 0, prefix: 24), "documentation"),
        Special(.v4(192, 88, 99, 0, prefix: 24), "6to4 relay"),
        Special(.v4(192, 168, 0, 0, prefix: 16), "private"),
        Special(.v4(198, 18, 0, 0, prefix: 15), "benchmarking"),
        Special(.v4(198, 51, 100, 0, prefix: 24), "documentation"),
        Special(.v4(203, 0, 113, 0, prefix: 24), "documentation"),
        Special(.v4(224, 0, 0, 0, prefix: 4), "multicast"),
        Special(.v4(240, 0, 0, 0, prefix: 4), "reserved"),
    ]

    /// IANA IPv6 Global Unicast allocations: the only block in use.
    private static let globalUnicast = Network.v6(0x2000_0000_0000_0000, prefix: 3)

    /// Special blocks inside `2000::/3`; 6to4 and Teredo carry IPv4 addresses of any kind.
    private static let special6 = [
        Special(.v6(0x2001_0000_0000_0000, prefix: 23), "protocol assignments, Teredo"),
        Special(.v6(0x2001_0db8_0000_0000, prefix: 32), "documentation"),
        Special(.v6(0x2002_0000_0000_0000, prefix: 16), "6to4"),
        Special(.v6(0x3fff_0000_0000_0000, prefix: 20), "documentation"),
    ]

    /// Names for what is refused anyway.
    private static let outside6 = [
        Special(.v6(0, 0, prefix: 128), "this host"),
        Special(.v6(0, 1, prefix: 128), "loopback"),
        Special(.v6(0, 0x0000_ffff_0000_0000, prefix: 96), "IPv4-mapped"),
        Special(.v6(0, 0xffff_0000_0000_0000, prefix: 96), "IPv4-translated"),
        Special(.v6(0, 0, prefix: 96), "IPv4-compatible"),
        Special(.v6(0x0064_ff9b_0001_0000, prefix: 48), "local NAT64"),
        Special(.v6(0x0100_0000_0000_0000, prefix: 64), "discard"),
        Special(.v6(0x5f00_0000_0000_0000, prefix: 16), "segment routing"),
        Special(.v6(0xfc00_0000_0000_0000, prefix: 7), "private"),
        Special(.v6(0xfe80_0000_0000_0000, prefix: 10), "link-local"),
        Special(.v6(0xfec0_0000_0000_0000, prefix: 10), "site-local"),
        Special(.v6(0xff00_0000_0000_0000, prefix: 8), "multicast"),
    ]
}
