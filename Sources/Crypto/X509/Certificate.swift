import Base
import COpenSSL
import Glibc

/// An X.509 certificate (RFC 5280), as it was sent.
///
/// `@unchecked Sendable`: the `X509` is only read after `init`; what OpenSSL caches inside it, it guards by its own lock.
package final class Certificate: @unchecked Sendable {
    /// Larger ones are refused before they are parsed; Apple's have about 1,100 bytes.
    package static let maximumSize = 16 * 1024

    let x509: OpaquePointer
    /// The bytes it was parsed from.
    package let der: [UInt8]
    /// SHA-256 of `der`.
    package let fingerprint: [UInt8]
    /// The subject for people, `CN=…, OU=…, O=…, C=…`.
    package let subject: String
    /// First instant of validity, milliseconds since 1970.
    package let notBefore: Int64
    /// End of validity, milliseconds since 1970; not valid at this instant any more, as OpenSSL has it.
    package let notAfter: Int64
    /// Object identifiers of the extensions, dotted decimals.
    package let extensions: Set<String>

    /// Nil unless the bytes are one certificate in DER, with nothing after it and times that can be read. OpenSSL reads
    /// BER as well; what the issuer's signature does not cover must be in the one spelling that DER has.
    package init?(der: [UInt8]) {
        guard der.count <= Certificate.maximumSize, let x509 = Certificate.parse(der) else { return nil }
        guard let notBefore = Certificate.milliseconds(X509_get0_notBefore(x509)),
            let notAfter = Certificate.milliseconds(X509_get0_notAfter(x509))
        else {
            X509_free(x509)
            OpenSSLErrors.drain()
            return nil
        }
        self.x509 = x509
        self.der = der
        self.notBefore = notBefore
        self.notAfter = notAfter
        fingerprint = Digest.sha256(der)
        subject = Certificate.text(of: X509_get_subject_name(x509))
        extensions = Certificate.extensions(of: x509)
    }

    deinit {
        X509_free(x509)
    }

    /// The key, if it is an EC key on P-256.
    package var verificationKey: VerificationKey? {
        guard let key = X509_get0_pubkey(x509) else {
            OpenSSLErrors.drain()
            return nil
        }
        return VerificationKey(sharing: key)
    }

    /// Where its status can be asked for by OCSP: the first `http:` or `https:` location of its authority information
    /// access (RFC 5280 §4.2.2.1); nil if it names none. Read from the certificate anew each time.
    package var ocspResponder: String? {
        // No real certificate has more than a few locations.
        for index in 0..<CInt(8) {
            guard let text = openssl_ocsp_location(x509, index) else { break }
            defer { openssl_free(text) }
            let location = String(cString: text)
            if location.hasPrefix("http://") || location.hasPrefix("https://") { return location }
        }
        OpenSSLErrors.drain()
        return nil
    }

    /// Whether it is valid at an instant, milliseconds since 1970.
    package func isValid(at date: Int64) -> Bool {
        notBefore <= date && date < notAfter
    }

    /// Whether both certify the same key under the same name, and so are the same anchor of trust.
    package func hasSameNameAndKey(as other: Certificate) -> Bool {
        guard X509_NAME_cmp(X509_get_subject_name(x509), X509_get_subject_name(other.x509)) == 0,
            let key = X509_get0_pubkey(x509), let otherKey = X509_get0_pubkey(other.x509),
            EVP_PKEY_eq(key, otherKey) == 1
        else {
            OpenSSLErrors.drain()
            return false
        }
        return true
    }

    /// Whether the holder of `issuer`'s key signed this certificate. Says nothing about names, dates or authority.
    package func isSigned(by issuer: Certificate) -> Bool {
        guard let key = X509_get0_pubkey(issuer.x509), X509_verify(x509, key) == 1 else {
            OpenSSLErrors.drain()
            return false
        }
        return true
    }

    // MARK: - Parsing

    private static func parse(_ der: [UInt8]) -> OpaquePointer? {
        der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard position != nil, let x509 = d2i_X509(nil, &position, bytes.count) else {
                OpenSSLErrors.drain()
                return nil
            }
            // The signed part is written as it was read, the rest anew.
            guard position == bytes.baseAddress.map({ $0 + bytes.count }), encoded({ i2d_X509(x509, $0) }) == der
            else {
                X509_free(x509)
                OpenSSLErrors.drain()
                return nil
            }
            return x509
        }
    }

    /// Milliseconds since 1970; nil for a time that cannot be read.
    static func milliseconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64? {
        var calendar = tm()
        guard let time, ASN1_TIME_to_tm(time, &calendar) == 1 else { return nil }
        return Int64(timegm(&calendar)) &* 1000
    }

    private static func text(of name: OpaquePointer?) -> String {
        guard let name, let bio = BIO_new(BIO_s_mem()) else { return "" }
        defer { BIO_free(bio) }
        var data: UnsafeMutablePointer<CChar>?
        guard openssl_print_name(bio, name) >= 0, case let count = openssl_bio_data(bio, &data), count > 0, let data
        else {
            OpenSSLErrors.drain()
            return ""
        }
        return String(decoding: UnsafeRawBufferPointer(start: data, count: count), as: UTF8.self)
    }

    private static func extensions(of x509: OpaquePointer) -> Set<String> {
        var identifiers: Set<String> = []
        for index in 0..<max(0, X509_get_ext_count(x509)) {
            guard let found = X509_get_ext(x509, index), let object = X509_EXTENSION_get_object(found) else { continue }
            var text = [CChar](repeating: 0, count: 128)
            let length = OBJ_obj2txt(&text, CInt(text.count), object, 1)
            guard length > 0, Int(length) < text.count else { continue }
            identifiers.insert(String(decoding: text.prefix(Int(length)).map { UInt8(bitPattern: $0) }, as: UTF8.self))
        }
        return identifiers
    }
}
