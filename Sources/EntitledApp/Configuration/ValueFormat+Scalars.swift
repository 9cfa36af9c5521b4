import AppStoreAPI
import Base
import Crypto
import Daemon
import HTTP

extension ValueFormat where Value == String {
    /// A text that is not empty and has no control characters.
    static func name(_ allowed: String) -> ValueFormat<String> {
        .text(allowed, schema: .textSchema(), write: { $0 }) { text in
            text.isEmpty || text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7f } ? nil : text
        }
    }

    /// ASCII letters, digits and these marks, up to a length in bytes.
    static func identifier(_ allowed: String, marks: String, longest: Int) -> ValueFormat<String> {
        let escaped = marks.replacing("-", with: "\\-")
        let schema = JSON.textSchema(pattern: "^[A-Za-z0-9\(escaped)]{1,\(longest)}$")
        return .text(allowed, schema: schema, write: { $0 }) { text in
            let isGood = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || marks.contains($0)) }
            return isGood && !text.isEmpty && text.utf8.count <= longest ? text : nil
        }
    }

    /// A UUID with dashes, in any case.
    static func uuid(_ allowed: String) -> ValueFormat<String> {
        let hex = "[0-9A-Fa-f]"
        let schema = JSON.textSchema(pattern: "^\(hex){8}(-\(hex){4}){3}-\(hex){12}$")
        return .text(allowed, schema: schema, write: { $0 }) { UUIDText.bytes($0) == nil ? nil : $0 }
    }

    /// A path; absolute afterwards.
    static var path: ValueFormat<String> {
        let allowed = "a path, absolute or from the current directory"
        return ValueFormat(allowed: allowed, schema: .textSchema(), write: { .string($0) }) {
            json, surroundings in
            guard let path = json.stringValue, !path.isEmpty, !path.utf8.contains(0) else {
                return .wrong(json, allowed)
            }
            return .value(surroundings.resolve(path))
        }
    }

    /// The path of Apple's `AuthKey_….p8` (PEM, PKCS #8). A file that this user may not read is left to the process that needs it:
    /// the public endpoint should not be able to.
    static var privateKeyFile: ValueFormat<String> {
        let allowed = "the path of a private key as Apple gives it (PEM, .p8)"
        return ValueFormat(allowed: allowed, schema: .textSchema(), write: { .string($0) }) {
            json, surroundings in
            guard let text = json.stringValue, !text.isEmpty, !text.utf8.contains(0) else {
                return .wrong(json, allowed)
            }
            let path = surroundings.resolve(text)
            switch surroundings.readFile(path) {
            case .denied: return .value(path)
            case .contents(let bytes):
                if let flaw = ServerAPIKey.flaw(in: String(decoding: bytes, as: UTF8.self)) {
                    return .wrong(json, allowed, reason: flaw)
                }
                return .value(path)
            case let other: return .wrong(json, allowed, reason: other.failure)
            }
        }
    }

    /// The path of a file; absolute afterwards. One that this user may not read is left to the process that needs it.
    static func readableFile(_ allowed: String) -> ValueFormat<String> {
        ValueFormat(allowed: allowed, schema: .textSchema(), write: { .string($0) }) { json, surroundings in
            guard let text = json.stringValue, !text.isEmpty, !text.utf8.contains(0) else {
                return .wrong(json, allowed)
            }
            let path = surroundings.resolve(text)
            switch surroundings.readFile(path) {
            case .denied, .contents: return .value(path)
            case let other: return .wrong(json, allowed, reason: other.failure)
            }
        }
    }

    /// An `http:` or `https:` URL without credentials; without a slash at its end afterwards.
    static var baseURL: ValueFormat<String> {
        .text("an http: or https: URL without credentials, query or fragment", write: { $0 }) { text in
            let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
            guard let rest, let first = rest.first, first != "/", first != ":", rest.allSatisfy({ $0.isASCII }),
                !rest.contains(where: { $0.isWhitespace || "@?#\\".contains($0) })
            else { return nil }
            return text.hasSuffix("/") ? String(text.dropLast()) : text
        }
    }

    /// Where webhooks go; as it is used afterwards.
    static var webhookURL: ValueFormat<String> {
        .text("an https: or http: URL without credentials or fragment", write: { $0 }) { text in
            (try? OutgoingURL(parsing: text))?.text
        }
    }

    /// An origin as browsers send it (RFC 6454 §6.2), in lower case, or `*`.
    static var origin: ValueFormat<String> {
        .text(
            "an origin such as \"https://app.example.com\" (scheme, host, port, nothing after), or \"*\"", write: { $0 }
        ) {
            text in
            if text == "*" { return text }
            let rest = ["https://", "http://"].first { text.hasPrefix($0) }.map { text.dropFirst($0.count) }
            guard let rest, !rest.isEmpty,
                rest.utf8.allSatisfy({ byte in
                    (0x61...0x7a).contains(byte) || (0x30...0x39).contains(byte) || "-.:[]".utf8.contains(byte)
                })
            else { return nil }
            return text
        }
    }

    /// The name of a header field (RFC 9110 §5.1).
    static var headerName: ValueFormat<String> {
        .text("the name of a header, such as \"X-Forwarded-Email\"", write: { $0 }) { text in
            let isName = text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                    true
                default: false
                }
            }
            return isName && (1...64).contains(text.utf8.count) ? text : nil
        }
    }

    /// A CIDR range.
    static var networkRange: ValueFormat<String> {
        .text("a CIDR range such as \"10.0.0.0/8\" or \"fd00::/8\", no bit set after the prefix", write: { $0 }) {
            NetworkAddress.isRange($0) ? $0 : nil
        }
    }
}

extension ValueFormat where Value == ListenAddress {
    static var listen: ValueFormat<ListenAddress> {
        .text(
            "address:port such as \"127.0.0.1:8080\", \"0.0.0.0:8080\" or \"[::1]:8080\"; port 0 takes a free one",
            write: \.description, read: ListenAddress.init(text:))
    }
}

extension ValueFormat where Value == Duration {
    static func duration(_ range: ClosedRange<Duration>) -> ValueFormat<Duration> {
        .text(
            "a duration from \(range.lowerBound.text) to \(range.upperBound.text), as in \"500ms\", \"10s\", \"5m\", \"24h\", \"7d\"",
            schema: .textSchema(pattern: "^[0-9]+(ms|s|m|h|d)$"), write: \.text
        ) { text in
            Duration(text: text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    /// The same, or zero for what never happens.
    static func durationOrNever(_ range: ClosedRange<Duration>) -> ValueFormat<Duration> {
        .text(
            "a duration from \(range.lowerBound.text) to \(range.upperBound.text), as in \"120h\" or \"5d\";"
                + " \"0s\" or \"never\" for never",
            schema: .textSchema(pattern: "^([0-9]+(ms|s|m|h|d)|never)$"), write: { $0 == .zero ? "never" : $0.text }
        ) { text in
            if text == "never" { return .zero }
            return Duration(text: text).flatMap { $0 == .zero || range.contains($0) ? $0 : nil }
        }
    }
}

extension ValueFormat where Value == Int64 {
    static func integer(_ range: ClosedRange<Int64>, unit: String = "") -> ValueFormat<Int64> {
        let most = range.upperBound == .max ? "" : " to \(range.upperBound)"
        let allowed = "a whole number from \(range.lowerBound)\(most)\(unit.isEmpty ? "" : " " + unit)"
        let schema = JSON.object([
            "type": .string("integer"), "minimum": .int(range.lowerBound),
            "maximum": most.isEmpty ? nil : .int(range.upperBound),
        ])
        return ValueFormat(
            allowed: allowed, schema: schema,
            fromText: { text in Int64(text).map { .int($0) } ?? .string(text) }, write: { .int($0) }
        ) { json, _ in
            guard let value = json.intValue, range.contains(value) else { return .wrong(json, allowed) }
            return .value(value)
        }
    }
}

extension ValueFormat where Value == Bool {
    static var flag: ValueFormat<Bool> {
        let allowed = "true or false"
        return ValueFormat(
            allowed: allowed, schema: .object(["type": .string("boolean")]),
            fromText: { text in ["true": .bool(true), "false": .bool(false)][text] ?? .string(text) },
            write: { .bool($0) }
        ) { json, _ in
            guard case .bool(let value) = json else { return .wrong(json, allowed) }
            return .value(value)
        }
    }
}

extension ValueFormat where Value: RawRepresentable & CaseIterable, Value.RawValue == String {
    /// One of a few words.
    static var word: ValueFormat<Value> {
        let words = Value.allCases.map(\.rawValue)
        let quoted = words.map { "\"\($0)\"" }
        let allowed =
            quoted.count < 2
            ? quoted.joined() : quoted.dropLast().joined(separator: ", ") + " or " + quoted[quoted.count - 1]
        let schema = JSON.object(["type": .string("string"), "enum": .strings(words)])
        return .text(allowed, schema: schema, write: \.rawValue, read: Value.init(rawValue:))
    }
}

extension ValueFormat where Value == [UInt8] {
    /// SHA-256 in hexadecimal digits of either case; the colons that `openssl` writes do no harm.
    static var sha256: ValueFormat<[UInt8]> {
        .text("the SHA-256 of a certificate: 64 hexadecimal digits", write: { Hex.encode($0).uppercased() }) { text in
            Hex.decode(text.filter { $0 != ":" }).flatMap { $0.count == 32 ? $0 : nil }
        }
    }
}

extension ValueFormat where Value == [[UInt8]] {
    /// The path of a file of certificates; their DER afterwards.
    static var certificateFile: ValueFormat<[[UInt8]]> {
        let allowed = "the path of a file with certificates (PEM or DER)"
        return ValueFormat(allowed: allowed, schema: .textSchema(), write: { _ in .null }) {
            json, surroundings in
            guard let path = json.stringValue, !path.isEmpty, !path.utf8.contains(0) else {
                return .wrong(json, allowed)
            }
            let file = surroundings.readFile(surroundings.resolve(path))
            guard case .contents(let bytes) = file else { return .wrong(json, allowed, reason: file.failure) }
            guard let certificates = CertificateFile.certificates(in: bytes) else {
                return .wrong(json, allowed, reason: "no certificate in it")
            }
            return .value(certificates.map(\.der))
        }
    }
}

extension ValueFormat where Value == Redacted<String> {
    static var databaseURL: ValueFormat<Redacted<String>> {
        .text("a libpq URL: postgres://user:password@host:port/database", write: \.exposed) { text in
            let isURL = ["postgres://", "postgresql://"].contains { text.hasPrefix($0) && text.count > $0.count }
            return isURL && !text.contains(where: \.isNewline) ? Redacted(text) : nil
        }
    }

    /// The URL of a proxy, credentials and all.
    static var proxyURL: ValueFormat<Redacted<String>> {
        .text(
            "http://, https:// or socks5h://, with user:password@ if need be, and host:port", write: \.exposed
        ) { text in
            ProxyServer(parsing: text).map { _ in Redacted(text) }
        }
    }

    /// A key that clients send in a header.
    static var apiKey: ValueFormat<Redacted<String>> {
        .text("a key of 8 to 256 visible ASCII characters", write: \.exposed) { text in
            let isVisible = text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
            return isVisible && (8...256).contains(text.utf8.count) ? Redacted(text) : nil
        }
    }
}

extension ValueFormat where Value == Redacted<String> {
    /// The value of a header of a request.
    static var headerValue: ValueFormat<Redacted<String>> {
        .text("a text of at most 4096 visible ASCII characters and spaces", write: \.exposed) { text in
            let isVisible = text.utf8.allSatisfy { (0x20...0x7e).contains($0) }
            return isVisible && (1...4096).contains(text.utf8.count) ? Redacted(text) : nil
        }
    }
}

extension ValueFormat where Value == Redacted<[UInt8]> {
    /// A key of AES-256.
    static var sealingKey: ValueFormat<Redacted<[UInt8]>> {
        .text(
            "32 random bytes as base64 or as 64 hexadecimal digits (openssl rand -base64 32)",
            write: {
                .init(Base64.encode($0.exposed))
            }
        ) { text in
            guard let bytes = text.utf8.count == 64 ? Hex.decode(text) : Base64.decode(text.utf8), bytes.count == 32
            else {
                return nil
            }
            return Redacted(bytes)
        }
    }
}

extension ValueFormat where Value == TimeZoneName {
    /// Whether this host knows it, only reports ask.
    static let timeZone = ValueFormat.text("the name of a time zone, such as UTC or Europe/Vienna", write: \.text) {
        TimeZoneName($0)
    }
}
