import HTTPClient
import HTTPServer

/// The client address of a request, as limits count it: an IPv4 address, or the leading 64 bits of an IPv6 address,
/// since one household or host has all addresses of a /64.
package struct ClientAddress: Hashable, Sendable, CustomStringConvertible {
    private let address: IPAddress

    init(_ address: IPAddress) {
        if case .v6(let high, _) = address.unmapped {
            self.address = .v6(high: high, low: 0)
        } else {
            self.address = address.unmapped
        }
    }

    package var description: String {
        if case .v6 = address { "\(address)/64" } else { "\(address)" }
    }
}

/// The proxies whose `X-Forwarded-For` is believed.
package struct TrustedProxies: Sendable {
    private let networks: [Network]

    /// This host and private networks: a client of the public internet has none of these addresses.
    package static let standard = [
        "127.0.0.0/8", "::1/128", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7",
    ]
    /// Hops that are read; longer chains of proxies do not occur.
    private static let mostHops = 16

    /// - Parameter ranges: in CIDR notation; what is no range is passed over.
    package init(_ ranges: [String] = TrustedProxies.standard) {
        networks = ranges.compactMap(Network.init(parsing:))
    }

    /// The address of the client: the right-most of `X-Forwarded-For` that is not trusted, where the peer is a trusted
    /// proxy; else, and where all are trusted, the one that is farthest from here. Nil for a peer without an address.
    ///
    /// - Parameter peer: numeric.
    func client(_ head: HTTPRequestHead, peer: String) -> (address: ClientAddress, isProxy: Bool)? {
        guard var last = IPAddress(parsing: peer)?.unmapped else { return nil }
        var isProxy = trusts(last)
        if isProxy, let hops = TrustedProxies.hops(head) {
            for hop in hops {
                // Text that is no address was not written by a proxy that is known here.
                guard isProxy, let address = TrustedProxies.address(hop) else { break }
                last = address
                isProxy = trusts(address)
            }
        }
        return (ClientAddress(last), isProxy)
    }

    private func trusts(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

    /// From the nearest hop on: each proxy adds the address that it saw at the end.
    private static func hops(_ head: HTTPRequestHead) -> ArraySlice<Substring>? {
        guard head.header("x-forwarded-for") != nil else { return nil }
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
