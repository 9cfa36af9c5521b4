import Base

/// Certificates in a file: PEM (RFC 7468 §5), several if need be, or one in DER.
package enum CertificateFile {
    private static let begin = "-----BEGIN CERTIFICATE-----"
    private static let end = "-----END CERTIFICATE-----"

    /// The DER of each; nil unless all that is there has the outer form of a certificate (RFC 5280 §4.1). Whether
    /// OpenSSL can use it shows when the trust store is built.
    package static func certificates(_ contents: [UInt8]) -> [[UInt8]]? {
        let text = String(decoding: contents, as: UTF8.self)
        guard text.contains(begin) else { return isCertificate(contents[...]) ? [contents] : nil }
        var certificates: [[UInt8]] = []
        var body: [UInt8]?
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.filter { !$0.isWhitespace || $0 == " " }
            switch line {
            case begin:
                guard body == nil else { return nil }
                body = []
            case end:
                guard let bytes = body.flatMap({ Base64.decode($0) }), isCertificate(bytes[...]) else { return nil }
                certificates.append(bytes)
                body = nil
            default:
                body?.append(contentsOf: line.utf8.filter { $0 != UInt8(ascii: " ") })
            }
        }
        return body == nil ? certificates : nil
    }

    /// A SEQUENCE of exactly: SEQUENCE (what is signed), SEQUENCE (the algorithm), BIT STRING (the signature).
    private static func isCertificate(_ der: ArraySlice<UInt8>) -> Bool {
        var outer = der
        guard var inner = element(0x30, of: &outer), outer.isEmpty else { return false }
        return element(0x30, of: &inner) != nil && element(0x30, of: &inner) != nil
            && element(0x03, of: &inner) != nil && inner.isEmpty
    }

    /// Takes the first element off, if it has this tag (X.690 §8.1); its content.
    private static func element(_ tag: UInt8, of bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        guard bytes.popFirst() == tag, let first = bytes.popFirst() else { return nil }
        var length = Int(first)
        if first >= 0x80 {
            let digits = Int(first & 0x7f)
            guard (1...4).contains(digits), bytes.count >= digits else { return nil }
            length = bytes.prefix(digits).reduce(0) { $0 << 8 | Int($1) }
            bytes = bytes.dropFirst(digits)
        }
        guard bytes.count >= length else { return nil }
        defer { bytes = bytes.dropFirst(length) }
        return bytes.prefix(length)
    }
}
