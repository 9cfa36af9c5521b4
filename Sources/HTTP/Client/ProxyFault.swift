import CCurl

/// Whose fault it is when a request does not get through a proxy.
enum ProxyFault {
    /// Nil where it is the target's, and is told as without a proxy.
    ///
    /// Not to be let in, or an answer of 5xx, is taken for trouble of the proxy's own: it says nothing sure of the target.
    ///
    /// - Parameters:
    ///   - lacksTunnel: no tunnel was made, nor was one used again.
    ///   - head: what the proxy answered then.
    static func kind(
        of code: CURLcode, _ proxy: ProxyServer, _ easy: EasyHandle, lacksTunnel: Bool, _ head: ResponseHead
    ) -> TransferFailure.Kind? {
        switch code {
        case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT: .infrastructure
        case CURLE_PROXY: socks(easy.number(CURLINFO_PROXY_ERROR))
        case CURLE_OPERATION_TIMEDOUT:
            // Once the proxy is reached, it may be the target that does not answer.
            easy.peer == nil ? .infrastructure : nil
        default: lacksTunnel ? tunnel(easy.number(CURLINFO_HTTP_CONNECTCODE), head) : nil
        }
    }

    /// By the status with which the proxy answered CONNECT; 0 where it did not. Smokescreen says which refusals and
    /// failures are the target's (https://github.com/stripe/smokescreen: 407 for what it denies).
    private static func tunnel(_ status: Int, _ head: ResponseHead) -> TransferFailure.Kind {
        switch status {
        case 407 where head.value(of: "x-smokescreen-error") != nil: .refusedAddress
        case 502 where head.value(of: "x-smokescreen-error") != nil: .connect
        case 504 where head.value(of: "x-smokescreen-error") != nil: .connect
        case 407: .infrastructure
        case 400..<500: .refusedAddress
        default: .infrastructure
        }
    }

    /// By the reply of the proxy (RFC 1928 §6).
    private static func socks(_ error: Int) -> TransferFailure.Kind {
        switch CURLproxycode(UInt32(truncatingIfNeeded: error)) {
        case CURLPX_REPLY_NOT_ALLOWED: .refusedAddress
        case CURLPX_REPLY_CONNECTION_REFUSED, CURLPX_REPLY_HOST_UNREACHABLE, CURLPX_REPLY_NETWORK_UNREACHABLE,
            CURLPX_REPLY_TTL_EXPIRED:
            .connect
        default: .infrastructure
        }
    }
}
