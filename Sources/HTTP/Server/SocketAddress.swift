import CLinux
import CMicrohttpd
import Glibc

/// Numeric addresses of IPv4 and IPv6 with a port.
struct SocketAddress {
    private(set) var storage = sockaddr_storage()
    private(set) var length: socklen_t = 0

    /// Reads `127.0.0.1:8080` or `[::1]:8080`; nil for anything else, names of hosts included.
    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        let host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, String(host.dropFirst().dropLast()), &address.sin6_addr) == 1 else { return nil }
            set(address)
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, String(host), &address.sin_addr) == 1 else { return nil }
            set(address)
        }
    }

    /// The address a socket is bound to.
    init?(boundBy socket: Int32) {
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let status = withUnsafeMutablePointer(to: &storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket, $0, &size) }
        }
        guard status == 0 else { return nil }
        length = size
    }

    private mutating func set<Address>(_ address: Address) {
        withUnsafeMutableBytes(of: &storage) { $0.storeBytes(of: address, as: Address.self) }
        length = socklen_t(MemoryLayout<Address>.size)
    }

    var family: Int32 { Int32(storage.ss_family) }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { storage in
            storage.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    var port: UInt16 {
        withPointer { address, _ in
            UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self).bigEndian
        }
    }

    /// `127.0.0.1:8080`, `[::1]:8080`.
    var text: String {
        let host = withPointer { address, _ in SocketAddress.host(address) }
        return family == AF_INET6 ? "[\(host)]:\(port)" : "\(host):\(port)"
    }

    /// The numeric address of the other end.
    static func host(of connection: OpaquePointer) -> String {
        entitled_mhd_peer(connection).map(host) ?? ""
    }

    private static func host(_ address: UnsafePointer<sockaddr>) -> String {
        let found = clinux_address_family(address)
        let isNew = found == AF_INET6
        guard isNew || found == AF_INET else { return "" }
        let offset =
            isNew
            ? MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr) : MemoryLayout<sockaddr_in>.offset(of: \.sin_addr)
        var text = [CChar](repeating: 0, count: 64)
        let family = isNew ? AF_INET6 : AF_INET
        guard inet_ntop(family, UnsafeRawPointer(address) + (offset ?? 0), &text, socklen_t(text.count)) != nil else {
            return ""
        }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
