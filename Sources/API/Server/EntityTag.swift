import Base
import Crypto
import HTTP

/// The entity tag of an answer that callers keep, as RevenueCat's SDKs have it and as HTTP has it (RFC 9110 §8.8.3).
struct EntityTag {
    /// 16 hex digits.
    private let tag: String

    init(_ tag: String) {
        self.tag = tag
    }

    /// The tag that follows from a body.
    init(of body: [UInt8]) {
        tag = Hex.encode(Digest.sha256(body).prefix(8))
    }

    private var quoted: String { "\"\(tag)\"" }

    /// The answer, or 304 where the caller has it. Only what is read has a tag: an SDK would take the status, too, from what
    /// it kept, and 201 says of a login that it made a customer. One that wants signed answers gets none either: it would not
    /// believe what it kept of an unsigned one.
    func response(to head: HTTPRequestHead, _ status: Int, _ body: [UInt8], now: Int64) -> HTTPResponse {
        // With 304 there is no body to say when it was.
        var headers: HTTPResponse.Headers = [("X-RevenueCat-Request-Time", String(now))]
        let isReading = head.method == "GET" || head.method == "HEAD"
        guard isReading, head.header("x-nonce") == nil else { return full(status, headers, body) }
        headers += [("X-RevenueCat-ETag", tag), ("ETag", quoted)]
        guard status == 200, isKnown(to: head) else { return full(status, headers, body) }
        return HTTPResponse(status: 304, headers: headers)
    }

    private func full(_ status: Int, _ headers: HTTPResponse.Headers, _ body: [UInt8]) -> HTTPResponse {
        HTTPResponse(status: status, headers: [("Content-Type", "application/json")] + headers, body: body)
    }

    private func isKnown(to head: HTTPRequestHead) -> Bool {
        if head.header("x-revenuecat-etag") == tag { return true }
        guard let list = head.header("if-none-match") else { return false }
        return list.split(separator: ",").contains { item in
            // Compared weakly (§13.1.2).
            var item = item.drop { $0 == " " }
            if item.hasPrefix("W/") { item = item.dropFirst(2) }
            while item.hasSuffix(" ") { item.removeLast() }
            return item == quoted || item == "*"
        }
    }
}
