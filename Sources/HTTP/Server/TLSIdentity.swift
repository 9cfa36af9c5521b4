import CMicrohttpd

/// Why a certificate chain and a key cannot be used; never shows what was read.
package enum TLSIdentityError: Error, Equatable, CustomStringConvertible {
    /// GnuTLS' words.
    case certificate(String)
    case key(String)
    case mismatch

    package var description: String {
        switch self {
        case .certificate(let reason): "not a certificate chain in PEM: \(reason)"
        case .key(let reason): "not a private key in PEM without a password: \(reason)"
        case .mismatch: "the key does not belong to the certificate"
        }
    }
}

/// A certificate chain with its private key, as a TLS server shows it (RFC 8446 §4.4.2).
///
/// `@unchecked Sendable`: GnuTLS only reads the credentials after `init`, and allows sessions of several threads to share
/// them (GnuTLS manual, "Thread safety").
package final class TLSIdentity: @unchecked Sendable {
    /// Of the server's own certificate: the end of its validity, milliseconds since 1970.
    package let notAfter: Int64
    let credentials: gnutls_certificate_credentials_t

    /// Both in PEM (RFC 7468): the server's certificate, then those that lead to its root; the key as PKCS #8, PKCS #1
    /// or SEC 1, not encrypted. Names and validity are not checked: that is the client's part.
    package init(certificate: [UInt8], key: [UInt8]) throws(TLSIdentityError) {
        notAfter = try TLSIdentity.end(ofValidity: certificate)
        try TLSIdentity.check(key: key)
        var made: gnutls_certificate_credentials_t?
        guard gnutls_certificate_allocate_credentials(&made) == GNUTLS_E_SUCCESS, let made else {
            throw .key("no memory")
        }
        let status = TLSIdentity.withDatum(certificate) { certificate in
            TLSIdentity.withDatum(key) { key in
                gnutls_certificate_set_x509_key_mem2(made, certificate, key, GNUTLS_X509_FMT_PEM, nil, 0)
            }
        }
        guard status >= 0 else {
            gnutls_certificate_free_credentials(made)
            throw status == GNUTLS_E_CERTIFICATE_KEY_MISMATCH ? .mismatch : .certificate(TLSIdentity.reason(status))
        }
        credentials = made
    }

    deinit {
        gnutls_certificate_free_credentials(credentials)
    }

    private static func end(ofValidity chain: [UInt8]) throws(TLSIdentityError) -> Int64 {
        var list: UnsafeMutablePointer<gnutls_x509_crt_t?>?
        var count: UInt32 = 0
        let status = withDatum(chain) { chain in
            gnutls_x509_crt_list_import2(
                &list, &count, chain, GNUTLS_X509_FMT_PEM, GNUTLS_X509_CRT_LIST_SORT.rawValue)
        }
        guard status >= 0, let list else { throw .certificate(reason(status)) }
        let certificates = UnsafeBufferPointer(start: list, count: Int(count))
        defer {
            certificates.forEach { gnutls_x509_crt_deinit($0) }
            entitled_gnutls_free(list)
        }
        guard let own = certificates.first else { throw .certificate(reason(GNUTLS_E_NO_CERTIFICATE_FOUND)) }
        return Int64(gnutls_x509_crt_get_expiration_time(own)) &* 1000
    }

    private static func check(key: [UInt8]) throws(TLSIdentityError) {
        var made: gnutls_x509_privkey_t?
        guard gnutls_x509_privkey_init(&made) == GNUTLS_E_SUCCESS, let made else { throw .key("no memory") }
        defer { gnutls_x509_privkey_deinit(made) }
        let status = withDatum(key) { key in
            gnutls_x509_privkey_import2(made, key, GNUTLS_X509_FMT_PEM, nil, GNUTLS_PKCS_PLAIN.rawValue)
        }
        guard status >= 0 else { throw .key(reason(status)) }
    }

    private static func withDatum<Result>(
        _ bytes: [UInt8], _ body: (UnsafePointer<gnutls_datum_t>) -> Result
    ) -> Result {
        bytes.withUnsafeBufferPointer { bytes in
            var datum = gnutls_datum_t(
                data: UnsafeMutablePointer(mutating: bytes.baseAddress), size: UInt32(clamping: bytes.count))
            return body(&datum)
        }
    }

    private static func reason(_ status: Int32) -> String {
        gnutls_strerror(status).map { String(cString: $0) } ?? "error \(status)"
    }
}
