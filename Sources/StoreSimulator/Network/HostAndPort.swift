import Glibc

/// `HOST:PORT`, with the host of an IPv6 address in brackets.
package struct HostAndPort: Sendable, Equatable, CustomStringConvertible {
    package let host: String
    package let port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Nil for anything else; without `defaultPort` the port must be there.
    package init?(_ text: some StringProtocol, defaultPort: UInt16? = nil) {
        var host = Substring(text)
        var port = defaultPort
        let end = host.firstIndex(of: "]")
        if let colon = host[(end ?? host.startIndex)...].lastIndex(of: ":") {
            guard let given = UInt16(host[host.index(after: colon)...]) else { return nil }
            port = given
            host = host[..<colon]
        }
        if host.hasPrefix("[") {
            guard host.hasSuffix("]") else { return nil }
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        guard let port, !host.isEmpty else { return nil }
        self.init(host: String(host), port: port)
    }

    package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// Calls `body` with one address after another until it gives a value.
    func resolve<Value>(
        passive: Bool = false, _ body: (UnsafePointer<addrinfo>) -> Value?
    ) throws(NetworkFailure) -> Value? {
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = passive ? AI_PASSIVE : 0
        var list: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &list)
        guard status == 0, let list else {
            throw NetworkFailure("\(host): \(String(cString: gai_strerror(status)))")
        }
        defer { freeaddrinfo(list) }
        var next: UnsafeMutablePointer<addrinfo>? = list
        while let address = next {
            if let value = body(address) { return value }
            next = address.pointee.ai_next
        }
        return nil
    }
}
