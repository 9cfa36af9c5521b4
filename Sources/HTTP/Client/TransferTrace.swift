/// How a request went over the wire, as far as it went: known of responses and, in part, of failures.
package struct TransferTrace: Sendable, Equatable {
    package var timings = TransferTimings()
    /// The address that was connected to; the proxy's, where there is one.
    package var peer: IPAddress?
    /// Whether the connection had carried an earlier request.
    package var reusedConnection = false
    /// Of the response, also of one that did not end: 10, 11 or 20 for HTTP/1.0, 1.1 and 2.
    package var version: Int?
    /// Of the last response that began, interim ones aside.
    package var head = ResponseHead()

    package init() {}
}

/// How long each phase took, in milliseconds; nil for one that did not happen, or did not end.
package struct TransferTimings: Sendable, Equatable {
    /// The name lookup; nil for addresses and for names whose answer was remembered.
    package var lookup: Int64?
    /// TCP; nil on a connection that was used again, and where the handshake after it failed.
    package var connect: Int64?
    /// The handshake, a proxy's tunnel included; nil without TLS and on a connection that was used again.
    package var handshake: Int64?
    /// From the beginning of the request to the first byte of the response.
    package var firstByte: Int64?

    package init(
        lookup: Int64? = nil, connect: Int64? = nil, handshake: Int64? = nil, firstByte: Int64? = nil
    ) {
        self.lookup = lookup
        self.connect = connect
        self.handshake = handshake
        self.firstByte = firstByte
    }
}
