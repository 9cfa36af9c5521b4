import Glibc

/// A numeric address and a port to listen on. Port 0 takes a free one.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// IPv4 or IPv6, without brackets.
    package let host: String
    package let port: UInt16

    package var isIPv6: Bool { host.contains(":") }

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Reads `127.0.0.1:8080`, `[::1]:8080` or `localhost:8080` (which is 127.0.0.1); nil for anything else.
    package init?(text: String) {
        guard let colon = text.lastIndex(of: ":") else { return nil }
        let digits = text[text.index(after: colon)...]
        guard !digits.isEmpty, digits.allSatisfy({ $0.isASCII && $0.isNumber }), let port = UInt16(digits) else {
            return nil
        }
        let name = String(text[..<colon])
        if name == "localhost" {
            self.init(host: "127.0.0.1", port: port)
        } else if NetworkAddress.bytes(name)?.count == 4 {
            self.init(host: name, port: port)
        } else if name.hasPrefix("["), name.hasSuffix("]"),
            NetworkAddress.bytes(String(name.dropFirst().dropLast())) != nil,
            name.contains(":")
        {
            self.init(host: String(name.dropFirst().dropLast()), port: port)
        } else {
            return nil
        }
    }

    package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Whether both cannot be listened on by one process.
    package func clashes(with other: ListenAddress) -> Bool {
        port != 0 && port == other.port && (host == other.host || isWildcard || other.isWildcard)
    }

    private var isWildcard: Bool {
        NetworkAddress.bytes(host)?.allSatisfy { $0 == 0 } ?? false
    }
}

/// IP addresses and CIDR ranges, as the system's `inet_pton` reads them.
package enum NetworkAddress {
    /// 4 or 16 bytes; nil if the text is no numeric address.
    package static func bytes(_ text: String) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, text, &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Whether the text is a range such as `10.0.0.0/8` or `fd00::/8`, with no bit set after the prefix.
    package static func isRange(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let address = bytes(String(parts[0])),
            !parts[1].isEmpty, parts[1].allSatisfy({ $0.isASCII && $0.isNumber }),
            let prefix = Int(parts[1]), prefix <= address.count * 8
        else { return false }
        for bit in prefix..<(address.count * 8) where address[bit / 8] & (0x80 >> UInt8(bit % 8)) != 0 {
            return false
        }
        return true
    }
}
