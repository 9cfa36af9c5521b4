import COpenSSL

/// A question for the status of one certificate (RFC 6960 §4.1, in the light form of RFC 5019): identified by SHA-1 of
/// its issuer's name and key, which every responder knows, unsigned and without a nonce, so that responders may answer
/// with what they signed before.
package struct OCSPRequest: Sendable, Equatable {
    /// To be sent as `application/ocsp-request`.
    package let der: [UInt8]

    /// Nil if OpenSSL cannot make it.
    package init?(about certificate: Certificate, issuedBy issuer: Certificate) {
        guard let request = OCSP_REQUEST_new() else { return nil }
        defer {
            OCSP_REQUEST_free(request)
            OpenSSLErrors.drain()
        }
        guard let identifier = OCSP_cert_to_id(EVP_sha1(), certificate.x509, issuer.x509) else { return nil }
        guard OCSP_request_add0_id(request, identifier) != nil else {
            OCSP_CERTID_free(identifier)
            return nil
        }
        let size = i2d_OCSP_REQUEST(request, nil)
        guard size > 0 else { return nil }
        var der = [UInt8](repeating: 0, count: Int(size))
        let written = der.withUnsafeMutableBufferPointer { bytes in
            var position = bytes.baseAddress
            return i2d_OCSP_REQUEST(request, &position)
        }
        guard written == size else { return nil }
        self.der = der
    }
}
