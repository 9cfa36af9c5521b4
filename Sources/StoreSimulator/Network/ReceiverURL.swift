/// Where notifications go: `http://HOST[:PORT][/PATH]`. TLS is left to a proxy in front of the receiver.
package struct ReceiverURL: Sendable, Equatable, CustomStringConvertible {
    package let address: HostAndPort
    /// With the query; at least `/`.
    package let target: String

    /// Nil for any other scheme, for user names, fragments, and what cannot stand in a request line.
    package init?(_ text: String) {
        let scheme = "http://"
        guard text.lowercased().hasPrefix(scheme), text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else { return nil }
        let rest = text.dropFirst(scheme.count)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let target = rest.dropFirst(authority.count)
        guard !authority.contains("@"), !rest.contains("#"),
            let address = HostAndPort(authority, defaultPort: 80)
        else { return nil }
        self.address = address
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
    }

    package var description: String { "http://\(address)\(target)" }
}
