import HTTP

/// The address under which browsers reach the console. Only requests for its host are answered: a page of another name that
/// was made to point here (DNS rebinding) gets nothing.
package struct ConsoleAddress: Sendable, Equatable {
    /// `https://console.example.com`; nil: this host by one of its own names, with any port, without TLS.
    private let origin: String?
    /// Whether browsers come by TLS, and keep the cookie from everything else.
    package let isSecure: Bool

    /// This host: `http://127.0.0.1:8082`, `http://localhost:8082`.
    package static let loopback = ConsoleAddress(origin: nil, isSecure: false)

    private static let localNames: Set = ["127.0.0.1", "localhost", "[::1]"]

    private init(origin: String?, isSecure: Bool) {
        (self.origin, self.isSecure) = (origin, isSecure)
    }

    /// Reads `https://HOST[:PORT]`, or `http:` with the name of this host; nil for everything else.
    package init?(_ text: String) {
        let text = text.hasSuffix("/") ? String(text.dropLast()) : text
        let parts = text.lowercased().split(separator: "/", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[1].isEmpty, !parts[2].isEmpty,
            parts[2].utf8.allSatisfy({ ConsoleAddress.isHostByte($0) })
        else { return nil }
        switch parts[0] {
        case "https:":
            let host = parts[2].hasSuffix(":443") ? parts[2].dropLast(4) : parts[2]
            self.init(origin: "https://\(host)", isSecure: true)
        case "http:" where ConsoleAddress.isLocal(String(parts[2])):
            self.init(origin: "http://\(parts[2])", isSecure: false)
        default: return nil
        }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: ".-:[]".utf8.contains(byte)
        }
    }

    private static func isLocal(_ host: String) -> Bool {
        if localNames.contains(host) { return true }
        guard let colon = host.lastIndex(of: ":") else { return false }
        return localNames.contains(String(host[..<colon])) && UInt16(host[host.index(after: colon)...]) != nil
    }

    /// The origin that a request is for, if it is for this console; nil: it names another host.
    package func origin(of head: HTTPRequestHead) -> String? {
        guard let host = head.header("host")?.lowercased() else { return nil }
        guard let origin else { return ConsoleAddress.isLocal(host) ? "http://\(host)" : nil }
        let named =
            (isSecure ? "https://" : "http://") + (isSecure && host.hasSuffix(":443") ? String(host.dropLast(4)) : host)
        return named == origin ? origin : nil
    }

    /// As commands print it, without a slash at the end.
    ///
    /// - Parameter listening: the address of the listener, where there is no other.
    package func text(listening: String) -> String { origin ?? "http://\(listening)" }
}
