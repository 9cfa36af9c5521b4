import CLinux
import Glibc

/// Whether this host has an address of its own from which another can be reached.
enum LocalSource {
    /// Connecting a datagram socket sends nothing, and needs an address and a route as TCP does, but no port of TCP's: where
    /// IPv6 is switched off (containers, by default), Linux says EADDRNOTAVAIL here too.
    static func exists(for address: IPAddress) -> Bool {
        let family: Int32 = if case .v4 = address { AF_INET } else { AF_INET6 }
        let descriptor = socket(family, clinux_datagram | clinux_close_on_exec, 0)
        guard descriptor >= 0 else { return errno != EAFNOSUPPORT }
        defer { close(descriptor) }
        return connect(descriptor, to: address) == 0 || ![EADDRNOTAVAIL, ENETUNREACH].contains(errno)
    }

    /// The port does not matter, but must be one.
    private static let port = in_port_t(9).bigEndian

    private static func connect(_ descriptor: Int32, to address: IPAddress) -> Int32 {
        switch address {
        case .v4(let bits):
            var target = sockaddr_in()
            target.sin_family = sa_family_t(AF_INET)
            target.sin_port = port
            target.sin_addr.s_addr = bits.bigEndian
            return connect(descriptor, target)
        case .v6(let high, let low):
            var target = sockaddr_in6()
            target.sin6_family = sa_family_t(AF_INET6)
            target.sin6_port = port
            withUnsafeMutableBytes(of: &target.sin6_addr) { bytes in
                bytes.storeBytes(of: high.bigEndian, toByteOffset: 0, as: UInt64.self)
                bytes.storeBytes(of: low.bigEndian, toByteOffset: 8, as: UInt64.self)
            }
            return connect(descriptor, target)
        }
    }

    private static func connect<Address>(_ descriptor: Int32, _ target: Address) -> Int32 {
        withUnsafeBytes(of: target) { bytes in
            bytes.assumingMemoryBound(to: sockaddr.self).baseAddress.map {
                Glibc.connect(descriptor, $0, socklen_t(bytes.count))
            } ?? -1
        }
    }
}
