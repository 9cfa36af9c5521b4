import Base
import CCurl
import Glibc

/// What a transfer came to, from libcurl's code and from what the callbacks saw.
extension Transfer {
    func outcome(_ code: CURLcode, _ easy: EasyHandle) -> TransferOutcome {
        let status = easy.number(CURLINFO_RESPONSE_CODE)
        if code == CURLE_OK || code == CURLE_WRITE_ERROR && truncated {
            return .response(
                OutgoingResponse(
                    status: status, retryAfter: retryAfter, delivery: delivery, date: date, body: body,
                    truncated: truncated, milliseconds: elapsed,
                    reusedConnection: easy.number(CURLINFO_NUM_CONNECTS) == 0))
        }
        if let refusal { return failure(.refusedAddress, refusal) }
        if let exhaustion { return failure(.infrastructure, exhaustion) }
        if headersTooLarge { return failure(.tooLarge, "the response has more header bytes than allowed", status) }
        let detail = easy.errorMessage
        let message = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        return failure(Transfer.kind(of: code, error: easy.number(CURLINFO_OS_ERRNO)), message, status)
    }

    func failure(_ kind: TransferFailure.Kind, _ message: String, _ status: Int = 0) -> TransferOutcome {
        .failure(
            TransferFailure(
                kind: kind, message: message, milliseconds: elapsed, status: status == 0 ? nil : status))
    }

    private var elapsed: Int64 { (ContinuousClock.now - started).milliseconds }

    private static func kind(of code: CURLcode, error: Int) -> TransferFailure.Kind {
        switch code {
        case CURLE_OPERATION_TIMEDOUT: .timeout
        case CURLE_COULDNT_CONNECT: error == Int(EADDRNOTAVAIL) ? .infrastructure : .connect
        case CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE: .closed
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_SHUTDOWN_FAILED:
            .tls
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: .notHTTP
        case CURLE_URL_MALFORMAT: .invalidURL
        case CURLE_OUT_OF_MEMORY, CURLE_FAILED_INIT, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_COULDNT_RESOLVE_HOST:
            // A name that libcurl had to resolve was not pinned: our fault.
            .infrastructure
        default: .other
        }
    }
}
