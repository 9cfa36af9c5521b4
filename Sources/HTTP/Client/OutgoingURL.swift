import CCurl
import Glibc

/// The URL of an outgoing request, normalised by libcurl's own parser, so that what is checked is what is sent.
package struct OutgoingURL: Sendable, Hashable {
    package enum Scheme: String, Sendable {
        case http, https
    }

    /// Bytes, before and after normalising.
    package static let maximumLength = 2048

    /// Normalised; without a fragment, which is never sent.
    package let text: String
    package let scheme: Scheme
    /// In lower case, international names in punycode (RFC 5891), an IPv6 address without its brackets.
    package let host: String
    package let port: UInt16

    /// The host, where it is an address and not a name. Short, octal, hexadecimal and decimal spellings of IPv4
    /// (`127.1`, `0x7f000001`) are normalised by then.
    package var literalAddress: IPAddress? { IPAddress(parsing: host) }

    /// The address, where the host says which by itself: an address, or `localhost` and what ends in it (RFC 6761 §6.3).
    var fixedAddress: IPAddress? {
        let isLocal = host == "localhost" || host.hasSuffix(".localhost")
        return literalAddress ?? (isLocal ? .v4(0x7f00_0001) : nil)
    }

    /// Scheme, host and port: safe for logs, where path and query may hold a secret.
    package var origin: String {
        "\(scheme.rawValue)://\(host.contains(":") ? "[\(host)]" : host):\(port)"
    }

    package init(parsing text: String) throws(URLRejection) {
        guard text.utf8.count <= OutgoingURL.maximumLength else { throw .tooLong }
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7f && $0 != UInt8(ascii: "\\") }) else {
            throw .forbiddenCharacter
        }
        let parsed = try OutgoingURL.settled(text)
        // libcurl also takes one slash, or three, and would read a path as the host.
        let slashes = text.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst().prefix { $0 == UInt8(ascii: "/") }
        guard slashes.count == 2 else { throw .noHost }
        let normalised = try parsed.normalised()
        guard normalised.utf8.count <= OutgoingURL.maximumLength else { throw .tooLong }
        guard let scheme = Scheme(rawValue: try parsed.part(CURLUPART_SCHEME) ?? "") else { throw .unsupportedScheme }
        guard let port = UInt16(try parsed.part(CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)) ?? ""), port > 0 else {
            throw .malformedPort
        }
        self.text = normalised
        self.scheme = scheme
        self.port = port
        host = try parsed.host()
    }

    /// One spelling of a host may turn into another (an escape, a final dot, an international digit); what is sent must
    /// be one that is read back as itself.
    private static func settled(_ text: String) throws(URLRejection) -> ParsedURL {
        var text = text
        for _ in 0..<4 {
            let parsed = try ParsedURL(text)
            let next = try parsed.normalised()
            if next == text { return parsed }
            text = next
        }
        throw .malformedHost
    }
}

/// One of libcurl's URL handles.
private final class ParsedURL {
    private let handle: OpaquePointer

    init(_ text: String) throws(URLRejection) {
        guard let handle = curl_url() else { throw .malformed }
        self.handle = handle
        // Non-ASCII bytes in path and query are sent percent-encoded (RFC 3986 §2.1).
        let flags = UInt32(CURLU_DISALLOW_USER | CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
        try ParsedURL.check(curl_url_set(handle, CURLUPART_URL, text, flags))
    }

    deinit {
        curl_url_cleanup(handle)
    }

    func normalised() throws(URLRejection) -> String {
        guard OutgoingURL.Scheme(rawValue: try part(CURLUPART_SCHEME) ?? "") != nil else { throw .unsupportedScheme }
        if try part(CURLUPART_ZONEID) != nil { throw .zone }
        let name = try host()
        let bracketed = name.contains(":") ? "[\(name)]" : name
        try ParsedURL.check(curl_url_set(handle, CURLUPART_HOST, bracketed, 0))
        try ParsedURL.check(curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0))
        return try part(CURLUPART_URL) ?? ""
    }

    /// Without brackets and a final dot, in lower case and punycode.
    func host() throws(URLRejection) -> String {
        // libcurl takes non-ASCII hosts as text of the thread's locale, which is C unless a program chooses one.
        let previous = ParsedURL.utf8Locale.value.map { uselocale($0) }
        defer { if let previous { uselocale(previous) } }
        guard var host = try part(CURLUPART_HOST, UInt32(CURLU_PUNYCODE))?.lowercased(), !host.isEmpty else {
            throw .noHost
        }
        if host.hasPrefix("["), host.hasSuffix("]") {
            guard let address = IPAddress(parsing: String(host.dropFirst().dropLast())) else { throw .malformedHost }
            return address.description
        }
        if host.hasSuffix(".") { host.removeLast() }
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard host.utf8.count <= 253, labels.allSatisfy({ (1...63).contains($0.count) }),
            host.utf8.allSatisfy(ParsedURL.isNameByte)
        else { throw .malformedHost }
        return host
    }

    func part(_ part: CURLUPart, _ flags: UInt32 = 0) throws(URLRejection) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        let code = curl_url_get(handle, part, &text, flags)
        defer { curl_free(text) }
        switch code {
        case CURLUE_OK: return text.map { String(cString: $0) }
        case CURLUE_NO_HOST, CURLUE_NO_ZONEID, CURLUE_NO_PORT, CURLUE_NO_SCHEME: return nil
        default:
            try ParsedURL.check(code)
            return nil
        }
    }

    /// `@unchecked Sendable`: made once, never changed or freed.
    private struct Locale: @unchecked Sendable {
        let value: locale_t?
    }

    /// glibc has this one built in since 2.35.
    private static let utf8Locale = Locale(value: newlocale(1 << LC_CTYPE, "C.UTF-8", nil))

    /// Letters, digits, `-`, `.`, and `_`, which names inside container networks have.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"): true
        default: false
        }
    }

    private static func check(_ code: CURLUcode) throws(URLRejection) {
        switch code {
        case CURLUE_OK: return
        case CURLUE_BAD_SCHEME, CURLUE_NO_SCHEME: throw .noScheme
        case CURLUE_UNSUPPORTED_SCHEME, CURLUE_BAD_FILE_URL: throw .unsupportedScheme
        case CURLUE_NO_HOST: throw .noHost
        case CURLUE_BAD_HOSTNAME, CURLUE_BAD_IPV6, CURLUE_LACKS_IDN: throw .malformedHost
        case CURLUE_USER_NOT_ALLOWED, CURLUE_BAD_LOGIN, CURLUE_BAD_USER, CURLUE_BAD_PASSWORD: throw .credentials
        case CURLUE_BAD_PORT_NUMBER: throw .malformedPort
        default: throw .malformed
        }
    }
}
