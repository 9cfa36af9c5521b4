import Base
import CCurl

/// A proxy through which all requests go. It resolves names and connects, and so it judges where names may point.
package struct ProxyServer: Sendable {
    package enum Scheme: String, Sendable, CaseIterable {
        /// A tunnel by CONNECT (RFC 9110 §9.3.6), to the proxy in the clear or over TLS.
        case http, https
        /// SOCKS 5 (RFC 1928); the proxy gets names, not addresses.
        case socks5h
    }

    package let scheme: Scheme
    /// As of `OutgoingURL`.
    package let host: String
    package let port: UInt16
    let user: Redacted<String>?
    let password: Redacted<String>?

    /// Scheme, host and port: safe for logs.
    package var origin: String { "\(scheme.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// Nil unless the text is a URL of one of the schemes with a host and a port, credentials if need be, and nothing
    /// behind them.
    package init?(parsing text: String) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            defer { curl_free(value) }
            guard curl_url_get(handle, part, &value, UInt32(flags)) == CURLUE_OK else { return nil }
            return value.map { String(cString: $0) }
        }
        guard text.utf8.count <= OutgoingURL.maximumLength, text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }),
            curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            let scheme = part(CURLUPART_SCHEME).flatMap({ Scheme(rawValue: $0.lowercased()) }),
            let host = part(CURLUPART_HOST), let port = part(CURLUPART_PORT),
            part(CURLUPART_ZONEID) == nil,
            // The same rules for hosts as everywhere.
            let target = try? OutgoingURL(parsing: "https://\(host):\(port)/"),
            ["", "/"].contains(part(CURLUPART_PATH) ?? ""), part(CURLUPART_QUERY) == nil,
            part(CURLUPART_FRAGMENT) == nil
        else { return nil }
        self.scheme = scheme
        self.host = target.host
        self.port = target.port
        user = part(CURLUPART_USER, CURLU_URLDECODE).map(Redacted.init)
        password = part(CURLUPART_PASSWORD, CURLU_URLDECODE).map(Redacted.init)
    }
}
