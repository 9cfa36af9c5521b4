/// The status line and the header lines of a response, for people: what may be a secret is left out.
package struct ResponseHead: Sendable, Equatable {
    /// Bytes that are kept.
    package static let limit = 4096

    /// As they came, the line that ends the head aside.
    private var bytes: [UInt8] = []
    /// Whether there was more.
    package private(set) var truncated = false

    package init() {}

    package var isEmpty: Bool { bytes.isEmpty }

    /// Takes one line with its end. A status line begins anew, so that interim responses and a proxy's do not stay.
    package mutating func take(_ line: UnsafeRawBufferPointer) {
        if line.starts(with: "HTTP/".utf8) { self = ResponseHead() }
        guard let first = line.first, first != 0x0d, first != 0x0a else { return }
        let room = ResponseHead.limit - bytes.count
        bytes.append(contentsOf: line.prefix(room))
        if line.count > room { truncated = true }
    }

    /// For logs and terminals: printable ASCII, one line each, at most `limit` bytes.
    package var text: String {
        var lines: [String] = []
        var hides = false
        for line in bytes.split(separator: 0x0a) {
            let isFolded = line.first == 0x20 || line.first == 0x09
            let text = SafeText.make(line, limit: ResponseHead.limit)
            guard !isFolded else {
                // It continues the line before (RFC 9112 §5.2).
                if !hides { lines.append("  \(text)") }
                continue
            }
            let name = text.prefix { $0 != ":" }
            hides = name.count < text.count && ResponseHead.isSecret(String(name))
            lines.append(hides ? "\(name): [left out]" : text)
        }
        return String(lines.joined(separator: "\n").prefix(ResponseHead.limit))
    }

    /// The value of the first header of this name, in any case; printable ASCII.
    package func value(of name: String) -> String? {
        for line in bytes.split(separator: 0x0a) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                SafeText.make(line[..<colon], limit: 256).lowercased() == name.lowercased()
            else { continue }
            return SafeText.make(line[line.index(after: colon)...], limit: ResponseHead.limit)
        }
        return nil
    }

    private static let secretWords = [
        "cookie", "auth", "token", "secret", "password", "api-key", "apikey", "session", "credential", "signature",
    ]

    private static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return secretWords.contains { name.contains($0) }
    }
}
