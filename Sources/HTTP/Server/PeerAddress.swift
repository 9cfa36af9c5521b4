import Glibc

/// Whose connections count together: an IPv4 address, or the /64 network of an IPv6 address, which one customer of a provider has.
struct PeerAddress: Hashable, Sendable {
    private let isVersion4: Bool
    private let bits: UInt64
    /// Whether it is of this host or of a private network, where proxies and load balancers are.
    let isLocal: Bool

    /// Nil for what is no IP address.
    init?(_ address: UnsafePointer<sockaddr>?) {
        guard let address else { return nil }
        // It comes first (POSIX). Read without its name: which of the imported modules declares that depends on what is built first.
        let family = UnsafeRawPointer(address).load(as: sa_family_t.self)
        var version4: UInt32?
        switch Int32(family) {
        case AF_INET:
            version4 = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr.bigEndian
        case AF_INET6:
            let host = UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self).sin6_addr
            let (high, low) = withUnsafeBytes(of: host) {
                ($0.load(as: UInt64.self).bigEndian, $0.load(fromByteOffset: 8, as: UInt64.self).bigEndian)
            }
            // A socket of both families shows IPv4 addresses inside ::ffff:0:0/96 (RFC 4291, 2.5.5.2).
            if high == 0, low >> 32 == 0xffff {
                version4 = UInt32(truncatingIfNeeded: low)
                break
            }
            (isVersion4, bits) = (false, high)
            // Loopback, private (fc00::/7), link-local (fe80::/10).
            isLocal = high == 0 && low == 1 || high >> 57 == 0xfc >> 1 || high >> 54 == 0xfe80 >> 6
            return
        default: return nil
        }
        guard let host = version4 else { return nil }
        (isVersion4, bits) = (true, UInt64(host))
        isLocal = PeerAddress.local4.contains { host >> (32 - $0.length) == $0.network >> (32 - $0.length) }
    }

    /// Loopback, private, link-local, and what carriers and clouds share (RFC 6890).
    private static let local4: [(network: UInt32, length: UInt32)] = [
        (0x7f00_0000, 8), (0x0a00_0000, 8), (0xac10_0000, 12), (0xc0a8_0000, 16), (0xa9fe_0000, 16), (0x6440_0000, 10),
    ]
}
