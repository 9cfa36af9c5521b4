import Base
import CLI
import Crypto
import Daemon
import HTTP

/// Asks an operator API over HTTP.
final class OperatorClient: OperatorSource, Sendable {
    private let address: RemoteAddress
    private let key: RemoteKey
    private let http: HTTPClient

    private static let timeout = Duration.seconds(30)
    /// Bytes of an answer.
    private static let limit = 64 << 20
    private static let tries = 3
    private static let pause = Duration.milliseconds(500)

    init(_ address: RemoteAddress, _ key: RemoteKey, caFile: String?) throws {
        self.address = address
        self.key = key
        // The command line named the address; a key goes unencrypted to this host alone, whatever a name resolves to.
        var configuration = HTTPClientConfiguration(
            allowedNetworks: address.isPlain ? RemoteAddress.loopback : RemoteAddress.everywhere, maxConnections: 1,
            responseLimit: OperatorClient.limit, caFile: caFile)
        configuration.connectTimeout = .seconds(10)
        if let caFile, case .contents = FileReading.read(caFile) {
        } else if let caFile {
            throw UsageError("--ca-file: \(Terminal.harmless(caFile)) cannot be read")
        }
        http = try HTTPClient(configuration: configuration, logger: .silent, metrics: Metrics())
        http.start()
    }

    deinit {
        http.stop()
    }

    // MARK: - Requests

    func get(_ path: [String], _ query: [(name: String, value: String?)]) throws -> [UInt8] {
        let response = try send("GET", path, query)
        guard response.status == 200 else { throw refusal(response) }
        return try body(response)
    }

    /// What a change would come to.
    func preview(_ path: [String], _ document: JSON, method: String = "POST") throws -> JSON {
        let response = try send(
            method, path, [("preview", "true")], [("Content-Type", "application/json")], document.bytes)
        guard response.status == 200 else { throw refusal(response) }
        return try JSON(ordered: try body(response))
    }

    /// Asks for a change. What got no answer is asked for again under the same key, so that it is done once.
    ///
    /// - Parameters:
    ///   - method: of HTTP.
    ///   - plan: of a preview, if it is to be done only as it was shown.
    /// - Returns: the answer, and whether the change is over.
    func post(
        _ path: [String], _ document: JSON, method: String = "POST", plan: String? = nil
    ) throws -> (answer: JSON, isOver: Bool) {
        let headers =
            [("Idempotency-Key", Hex.encode(SecureRandom.bytes(16))), ("Content-Type", "application/json")]
            + (plan.map { [("If-Plan", $0)] } ?? [])
        var left = OperatorClient.tries
        var mayBeAsked = false
        while true {
            left -= 1
            do {
                let response = try send(method, path, [], headers, document.bytes)
                guard [200, 202].contains(response.status) else { throw refusal(response) }
                return (try JSON(ordered: try body(response)), response.status == 200)
            } catch let failure as Unanswered where failure.mayPass && left > 0 {
                mayBeAsked = mayBeAsked || !failure.isUnsent
                Pause.wait(OperatorClient.pause)
            } catch let failure as Unanswered where mayBeAsked || !failure.isUnsent {
                throw CommandFailure(
                    "\(failure); the change may have been requested nevertheless: look at `entitled audit list` and"
                        + " `entitled jobs list`"
                        + " tell, before it is asked for again")
            }
        }
    }

    private func send(
        _ method: String, _ path: [String], _ query: [(name: String, value: String?)],
        _ headers: [(String, String)] = [], _ body: [UInt8] = []
    ) throws -> OutgoingResponse {
        let request = OutgoingRequest(
            url: address.url(path, query), method: method,
            headers: [("Authorization", "Bearer \(key.text.exposed)"), ("Accept", "application/json")] + headers,
            body: body, timeout: OperatorClient.timeout)
        switch http.sendAndWait(request) {
        case .response(let response): return response
        case .failure(let failure): throw Unanswered(failure, address)
        }
    }

    // MARK: - Answers

    /// No answer came.
    struct Unanswered: Error, CustomStringConvertible {
        let description: String
        /// Whether the same may be answered in a moment.
        let mayPass: Bool
        /// Whether the request has certainly not reached the server.
        let isUnsent: Bool

        init(_ failure: TransferFailure, _ address: RemoteAddress) {
            let origin = address.origin
            isUnsent = [.dnsNotFound, .dnsTemporary, .connect, .tls, .invalidURL].contains(failure.kind)
            mayPass = [.connect, .timeout, .closed, .dnsTemporary].contains(failure.kind)
            description =
                switch failure.kind {
                case .dnsNotFound: "there is no host of \(origin): \(failure.message)"
                case .dnsTemporary: "the name in \(origin) cannot be resolved at the moment: \(failure.message)"
                case .connect: "no connection to \(origin): \(failure.message); `entitled console` may not run there"
                case .tls:
                    "TLS with \(origin) failed: \(failure.message); --ca-file names authorities other than the system's"
                case .timeout: "\(origin) did not answer within \(OperatorClient.timeout.text)"
                case .invalidURL: "the request is too long, or has characters that no URL has: \(failure.message)"
                default: "the request to \(origin) failed: \(failure.message)"
                }
        }
    }

    private func body(_ response: OutgoingResponse) throws -> [UInt8] {
        guard !response.truncated else {
            throw CommandFailure(
                "the answer has more than \(OperatorClient.limit >> 20) MiB: ask for less with --limit")
        }
        var bytes = response.body
        while let last = bytes.last, last == 0x0a || last == 0x0d { bytes.removeLast() }
        guard bytes.first == UInt8(ascii: "{"), (try? JSON(ordered: bytes)) != nil else {
            throw notOne("the answer is not JSON")
        }
        return bytes
    }

    private func notOne(_ reason: String) -> CommandFailure {
        CommandFailure(
            "\(address.base) is not an operator API (\(reason)): --url names the listener of `entitled console`, or the"
                + " proxy before it")
    }

    private func refusal(_ response: OutgoingResponse) -> any Error {
        let again = response.retryAfter.map { "; try again in \($0) s" } ?? "; try again later"
        let error = (try? JSON(ordered: response.body))?["error"]
        guard let error, let code = error["code"]?.stringValue, let message = error["message"]?.stringValue else {
            switch response.status {
            case 301, 302, 303, 307, 308:
                return notOne("it answers \(response.status), which leads elsewhere: a proxy may want people to log in")
            case 401, 403: return notOne("it answers \(response.status) by itself: a proxy may want another login")
            case 429: return CommandFailure("\(address.origin) accepts no more requests for now (429)\(again)")
            case 502, 503, 504:
                return CommandFailure("\(address.origin) is not available (\(response.status))\(again)")
            default: return notOne("it answers \(response.status) without an error of the API")
            }
        }
        let harmless = Terminal.harmless(message)
        let plain = harmless.hasSuffix(".") ? String(harmless.dropLast()) : harmless
        let text =
            switch response.status {
            case 401:
                "\(address.origin) does not accept \(key.source): it is unknown, revoked or over; `entitled users key NAME`"
                    + " on the host makes one"
            case 429, 503: plain + again
            default: plain
            }
        return OperatorRefusal(
            status: response.status, code: code, text, job: error["job"]?.intValue,
            retryAfter: response.retryAfter.flatMap { Int($0) })
    }
}
