import COpenSSL

/// A signed message with its content and certificates (PKCS#7 SignedData, RFC 2315 §9), as Apple's app receipts are.
///
/// `@unchecked Sendable`: no other object has the `PKCS7`, and it is never given out.
package final class SignedMessage: @unchecked Sendable {
    /// Larger ones are refused before they are parsed: a receipt of an account with thousands of purchases has less.
    package static let maximumSize = 4 * 1024 * 1024
    /// Apple's receipts have three.
    private static let maximumCertificates: CInt = 8
    private static let digests = [NID_sha256, NID_sha384, NID_sha512]

    private let message: UnsafeMutablePointer<PKCS7>
    /// What was signed. Nothing of it is verified yet.
    package let content: [UInt8]
    /// Whose signature it claims to have; the only one.
    package let signer: Certificate
    /// All that came with it, the signer too.
    package let certificates: [Certificate]

    /// Nil unless the bytes are one such message and nothing after it, in DER or BER, with its content inside, one signer,
    /// and a digest of at least 256 bits.
    package init?(_ bytes: [UInt8]) {
        defer { OpenSSLErrors.drain() }
        guard bytes.count <= SignedMessage.maximumSize, let message = SignedMessage.parse(bytes) else { return nil }
        guard let content = openssl_pkcs7_content(message).flatMap(SignedMessage.bytes),
            case let count = openssl_pkcs7_certificate_count(message),
            (1...SignedMessage.maximumCertificates).contains(count),
            SignedMessage.digests.contains(openssl_pkcs7_digest(message)),
            let signer = openssl_pkcs7_signer(message).flatMap(SignedMessage.certificate)
        else {
            PKCS7_free(message)
            return nil
        }
        self.message = message
        self.content = content
        self.signer = signer
        certificates = (0..<count).compactMap {
            openssl_pkcs7_certificate(message, $0).flatMap(SignedMessage.certificate)
        }
    }

    deinit {
        PKCS7_free(message)
    }

    /// Whether the signer's key made the signature of the content. Whether the signer is to be confirmed is another question.
    package var isSigned: Bool {
        defer { OpenSSLErrors.drain() }
        return openssl_pkcs7_is_signed(message) == 1
    }

    private static func parse(_ bytes: [UInt8]) -> UnsafeMutablePointer<PKCS7>? {
        bytes.withUnsafeBufferPointer { buffer in
            var position = buffer.baseAddress
            guard let start = position, let message = d2i_PKCS7(nil, &position, buffer.count) else { return nil }
            guard position == start + buffer.count else {
                PKCS7_free(message)
                return nil
            }
            return message
        }
    }

    private static func bytes(_ text: UnsafePointer<ASN1_OCTET_STRING>) -> [UInt8]? {
        let count = ASN1_STRING_length(text)
        guard count > 0, let data = ASN1_STRING_get0_data(text) else { return nil }
        return Array(UnsafeBufferPointer(start: data, count: Int(count)))
    }

    private static func certificate(_ x509: OpaquePointer) -> Certificate? {
        let size = i2d_X509(x509, nil)
        guard size > 0, size <= Certificate.maximumSize else { return nil }
        var der = [UInt8](repeating: 0, count: Int(size))
        let written = der.withUnsafeMutableBufferPointer { buffer in
            var position = buffer.baseAddress
            return i2d_X509(x509, &position)
        }
        return written == size ? Certificate(der: der) : nil
    }
}
