/// Where a server listens, and what it takes from a client.
package struct HTTPServerConfiguration: Sendable {
    /// As log lines and metrics name it.
    package var role: String
    /// `host:port`, with a numeric address: `127.0.0.1:8080`, `[::1]:8080`; port 0 picks a free one.
    package var listen: String
    /// A socket that listens already, which the process was started with; the server closes it. Nil: one is made of `listen`.
    package var inherited: Int32?
    /// Bytes; a larger body is answered 413 before more of it is kept.
    package var maxBodyBytes: Int
    /// Whether a POST, PUT or PATCH that names no length is answered 411; else it has no body (RFC 9112, 6.3).
    package var needsLength = true
    /// From the connection, or from the request line, to the end of the header fields.
    package var headerTimeout: Duration
    /// From the end of the header fields to the end of the body, and again from the answer to its last byte.
    package var bodyTimeout: Duration
    /// From the end of a request to its answer; later it is answered 503. Nil: without a limit.
    package var answerTimeout: Duration?
    /// From an answer to the next request line on the same connection.
    package var idleTimeout: Duration
    /// Of all bodies that are being received, together; beyond it senders are asked to come again (503).
    package var bodyMemory = 64 << 20
    /// How long a connection between two requests stays open once draining has begun, so that a request already on
    /// its way is answered 503 rather than reset.
    package var drainGrace = Duration.milliseconds(200)
    /// One more is accepted and closed, unless another has been silent for `undisturbed`, which is closed in its place.
    package var maxConnections: Int
    /// Of one IPv4 address, or of one /64 network of IPv6; one more is accepted and closed.
    package var maxConnectionsPerAddress: Int
    /// Whether addresses of this host and of private networks have no limit of their own: a proxy brings everybody's requests.
    package var exemptsLocalAddresses = true
    /// How long a connection may wait with a request head before it can be closed for another one.
    package var undisturbed = Duration.seconds(1)
    package var threads: Int
    /// Set: only TLS is spoken, 1.2 or newer. `HTTPServer.replaceIdentity` changes it later.
    package var identity: TLSIdentity?

    package init(
        role: String, listen: String, maxBodyBytes: Int = 1 << 20, headerTimeout: Duration = .seconds(10),
        bodyTimeout: Duration = .seconds(30), idleTimeout: Duration = .seconds(60), maxConnections: Int = 4096,
        maxConnectionsPerAddress: Int = 256, threads: Int = 2, identity: TLSIdentity? = nil
    ) {
        self.role = role
        self.listen = listen
        self.maxBodyBytes = maxBodyBytes
        self.headerTimeout = headerTimeout
        self.bodyTimeout = bodyTimeout
        self.idleTimeout = idleTimeout
        self.maxConnections = maxConnections
        self.maxConnectionsPerAddress = maxConnectionsPerAddress
        self.threads = threads
        self.identity = identity
    }
}
