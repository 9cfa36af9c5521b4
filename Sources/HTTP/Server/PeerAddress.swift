import Glibc

/// Whose connections count together: an IPv4 address, or the /64 network of an IPv6 address, which one customer of a provider has.
struct PeerAddress: Hashable, Sendable {
    private let family: sa_family_t
    private let bits: UInt64
    /// Whether it is of this host or of a private network, where proxies and load balancers are.
    let isLocal: Bool

    /// Nil for what is no IP address.
    init?(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return nil }
        // It comes first (POSIX). Read without its name: which of the imported modules declares that depends on what is built first.
        family = UnsafeRawPointer(address).load(as: sa_family_t.self)
        switch Int32(family) {
        case AF_INET:
            let host = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr.bigEndian
            bits = UInt64(host)
            isLocal = PeerAddress.local4.contains { host >> (32 - $0.length) == $0.network >> (32 - $0.length) }
        case AF_INET6:
            let host = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            let (high, low) = withUnsafeBytes(of: host) {
                ($0.load(as: UInt64.self).bigEndian, $0.load(fromByteOffset: 8, as: UInt64.self).bigEndian)
            }
            bits = high
            // Loopback, private (fc00::/7), link-local (fe80::/10).
            isLocal = high == 0 && low == 1 || high >> 57 == 0xfc >> 1 || high >> 54 == 0xfe80 >> 6
        default: return nil
        }
    }

    /// Loopback, private, link-local, and what carriers and clouds share (RFC 6890).
    private static let local4: [(network: UInt32, length: UInt32)] = [
        (0x7f00_0000, 8), (0x0a00_0000, 8), (0xac10_0000, 12), (0xc0a8_0000, 16), (0xa9fe_0000, 16), (0x6440_0000, 10),
    ]
}
