import Base

/// How an `HTTPClient` sends.
package struct HTTPClientConfiguration: Sendable {
    /// Beside the public internet; plain `http:` URLs work only into these, unless `allowsPlainHTTP`.
    package var allowedNetworks: [Network]
    /// Whether plain `http:` may go to public addresses too: for what carries its own signatures and no secret, such as
    /// OCSP. Private networks stay refused.
    package var allowsPlainHTTP = false
    /// Transfers at the same time, and idle connections kept. What is submitted beyond waits, first come first served.
    package var maxConnections: Int
    package var userAgent: String
    /// Bytes of a response's body that are kept; the transfer is cut behind them.
    package var responseLimit: Int
    /// Of all header lines of a response together, interim responses included, in bytes.
    package var headerLimit = 32 << 10
    /// TCP and TLS, inside a request's own timeout.
    package var connectTimeout = Duration.seconds(5)
    /// Where all requests go through. It resolves names, and decides where they may point.
    package var proxy: ProxyServer?
    /// Whether HTTP/2 is offered over TLS (ALPN).
    package var offersHTTP2 = false
    /// PEM file of the authorities to trust instead of the system's.
    package var caFile: String?

    package init(
        allowedNetworks: [Network] = [], maxConnections: Int = 256, userAgent: String = "entitled/\(Version.current)",
        responseLimit: Int = 16 << 10, caFile: String? = nil
    ) {
        self.allowedNetworks = allowedNetworks
        self.maxConnections = max(1, maxConnections)
        self.userAgent = userAgent
        self.responseLimit = max(0, responseLimit)
        self.caFile = caFile
    }
}
