import Base
import CCurl
import Glibc

/// What a transfer came to, from libcurl's code and from what the callbacks saw.
extension Transfer {
    func outcome(_ code: CURLcode, _ easy: EasyHandle) -> TransferOutcome {
        let status = easy.number(CURLINFO_RESPONSE_CODE)
        // Cut by us, or whole: libcurl has several codes for the former.
        if code == CURLE_OK || truncated {
            return .response(
                OutgoingResponse(
                    status: status, retryAfter: retryAfter, delivery: delivery, date: date, body: body,
                    truncated: truncated, milliseconds: elapsed,
                    reusedConnection: easy.number(CURLINFO_NUM_CONNECTS) == 0, trace: trace(easy)))
        }
        let (kind, message) = fault(code, easy)
        // Before there is a tunnel, what was answered is the proxy's.
        let isConsumers = status != 0 && !lacksTunnel(easy)
        var trace = trace(easy)
        if !isConsumers { trace.head = ResponseHead() }
        return .failure(
            TransferFailure(
                kind: kind, message: message, milliseconds: elapsed, status: isConsumers ? status : nil,
                body: isConsumers ? body : [], trace: trace))
    }

    /// A failure before libcurl had anything to do with it.
    func failure(_ kind: TransferFailure.Kind, _ message: String) -> TransferOutcome {
        var trace = TransferTrace()
        trace.timings.lookup = lookupTime?.milliseconds
        return .failure(TransferFailure(kind: kind, message: message, milliseconds: elapsed, trace: trace))
    }

    private func fault(_ code: CURLcode, _ easy: EasyHandle) -> (TransferFailure.Kind, String) {
        if let refusal { return (.refusedAddress, refusal) }
        if let exhaustion { return (.infrastructure, exhaustion) }
        let detail = easy.errorMessage
        let message = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        if let proxy, let kind = ProxyFault.kind(of: code, proxy, easy, lacksTunnel: lacksTunnel(easy), head) {
            return (kind, "through the proxy: \(message)")
        }
        if headersTooLarge { return (.tooLarge, "the response has more header bytes than allowed") }
        if code == CURLE_COULDNT_CONNECT {
            let kind = Transfer.unconnected(easy.number(CURLINFO_OS_ERRNO)) {
                self.addresses.allSatisfy(LocalSource.exists)
            }
            return (kind, message)
        }
        return (Transfer.kind(of: code), message)
    }

    private func lacksTunnel(_ easy: EasyHandle) -> Bool {
        guard let proxy, proxy.scheme != .socks5h else { return false }
        return easy.microseconds(CURLINFO_PRETRANSFER_TIME_T) == 0 && easy.number(CURLINFO_HTTP_CONNECTCODE) / 100 != 2
    }

    private func trace(_ easy: EasyHandle) -> TransferTrace {
        var trace = TransferTrace()
        trace.peer = easy.peer
        trace.reusedConnection = trace.peer != nil && easy.number(CURLINFO_NUM_CONNECTS) == 0
        trace.head = head
        trace.version =
            switch easy.number(CURLINFO_HTTP_VERSION) {
            case Int(CURL_HTTP_VERSION_1_0): 10
            case Int(CURL_HTTP_VERSION_1_1): 11
            case Int(CURL_HTTP_VERSION_2_0): 20
            default: nil
            }
        trace.timings = timings(easy, reused: trace.reusedConnection)
        return trace
    }

    /// libcurl's times are from its beginning; the phases follow one another.
    private func timings(_ easy: EasyHandle, reused: Bool) -> TransferTimings {
        func phase(_ from: CURLINFO, _ to: CURLINFO) -> Int64? {
            let (from, to) = (easy.microseconds(from), easy.microseconds(to))
            return to > 0 && to >= from ? (to - from) / 1000 : nil
        }
        var timings = TransferTimings(lookup: lookupTime?.milliseconds)
        if !reused {
            timings.connect = phase(CURLINFO_NAMELOOKUP_TIME_T, CURLINFO_CONNECT_TIME_T)
            timings.handshake = phase(CURLINFO_CONNECT_TIME_T, CURLINFO_APPCONNECT_TIME_T)
        }
        timings.firstByte = phase(CURLINFO_PRETRANSFER_TIME_T, CURLINFO_STARTTRANSFER_TIME_T)
        return timings
    }

    private var elapsed: Int64 { (ContinuousClock.now - started).milliseconds }

    /// - Parameter hasSources: whether this host could reach all of the target's addresses. Then EADDRNOTAVAIL says that
    ///   its ports are used up; else that it does not speak the target's IP version, which waiting does not mend.
    static func unconnected(_ error: Int, hasSources: () -> Bool) -> TransferFailure.Kind {
        error == Int(EADDRNOTAVAIL) && hasSources() ? .infrastructure : .connect
    }

    private static func kind(of code: CURLcode) -> TransferFailure.Kind {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2_STREAM: .closed
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_SHUTDOWN_FAILED:
            .tls
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING, CURLE_HTTP2: .notHTTP
        case CURLE_URL_MALFORMAT: .invalidURL
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_COULDNT_RESOLVE_HOST:
            // A name that libcurl had to resolve was not pinned: our fault.
            .infrastructure
        default: .other
        }
    }
}
