import COpenSSL

/// Reads responses of OCSP responders (RFC 6960 §4.2).
package enum OCSPResponse {
    /// Larger ones are refused before they are parsed; Apple's have about 1,500 bytes.
    package static let maximumSize = 16 * 1024

    /// The status of the certificate, if the response is about it, is signed by its issuer or by a responder that the
    /// issuer certified for that (extended key usage OCSPSigning), and is current at `now`.
    ///
    /// - Parameters:
    ///   - now: milliseconds since 1970; the responder's certificate must be valid then, too.
    ///   - leeway: how far the clocks may differ, in milliseconds.
    package static func read(
        _ der: [UInt8], about certificate: Certificate, issuedBy issuer: Certificate, at now: Int64, leeway: Int64
    ) -> Result<OCSPAnswer, OCSPFailure> {
        defer { OpenSSLErrors.drain() }
        do throws(OCSPFailure) {
            let response = try parse(der)
            defer { OCSP_BASICRESP_free(response) }
            try requireSignature(of: response, by: issuer, at: now)
            let answer = try status(in: response, of: certificate, issuedBy: issuer)
            guard answer.thisUpdate <= now &+ leeway else { throw .notYetValid }
            guard answer.nextUpdate >= answer.thisUpdate, now <= answer.nextUpdate &+ leeway else { throw .stale }
            return .success(answer)
        } catch {
            return .failure(error)
        }
    }

    /// The caller frees it.
    private static func parse(_ der: [UInt8]) throws(OCSPFailure) -> OpaquePointer {
        guard der.count <= maximumSize else { throw .malformed }
        let response: OpaquePointer? = der.withUnsafeBufferPointer { bytes in
            var position = bytes.baseAddress
            guard let start = position, let response = d2i_OCSP_RESPONSE(nil, &position, bytes.count) else {
                return nil
            }
            guard position == start + bytes.count else {
                OCSP_RESPONSE_free(response)
                return nil
            }
            return response
        }
        guard let response else { throw .malformed }
        defer { OCSP_RESPONSE_free(response) }
        guard OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL else { throw .refused }
        guard let basic = OCSP_response_get1_basic(response) else { throw .malformed }
        return basic
    }

    private static let digests = [NID_sha256, NID_sha384, NID_sha512]

    /// Only the issuer is trusted, and below it only whom it certified for answering; so no path has more than one
    /// certificate under the issuer.
    private static func requireSignature(
        of response: OpaquePointer, by issuer: Certificate, at now: Int64
    ) throws(OCSPFailure) {
        guard digests.contains(openssl_ocsp_digest(response)) else { throw .untrusted }
        guard let store = X509_STORE_new(), let known = openssl_x509_stack() else { throw .untrusted }
        defer {
            X509_STORE_free(store)
            openssl_x509_stack_free(known)
        }
        guard X509_STORE_add_cert(store, issuer.x509) == 1, openssl_x509_stack_push(known, issuer.x509) > 0,
            let parameters = X509_STORE_get0_param(store)
        else { throw .untrusted }
        X509_VERIFY_PARAM_set_time(parameters, Int((Double(now) / 1000).rounded(.down)))
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        X509_VERIFY_PARAM_set_depth(parameters, 0)
        // The issuer counts as an anchor although it may be an intermediate.
        X509_VERIFY_PARAM_set_flags(parameters, UInt(X509_V_FLAG_PARTIAL_CHAIN))
        guard OCSP_basic_verify(response, known, store, UInt(OCSP_NOEXPLICIT)) == 1 else { throw .untrusted }
    }

    private static func status(
        in response: OpaquePointer, of certificate: Certificate, issuedBy issuer: Certificate
    ) throws(OCSPFailure) -> OCSPAnswer {
        guard let identifier = OCSP_cert_to_id(EVP_sha1(), certificate.x509, issuer.x509) else { throw .malformed }
        defer { OCSP_CERTID_free(identifier) }
        var (status, reason): (CInt, CInt) = (-1, -1)
        var revoked: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var this: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        var next: UnsafeMutablePointer<ASN1_GENERALIZEDTIME>?
        guard OCSP_resp_find_status(response, identifier, &status, &reason, &revoked, &this, &next) == 1 else {
            throw .otherCertificate
        }
        // Without an end it could be replayed without limit; Apple's library refuses it, too.
        guard next != nil else { throw .stale }
        guard let thisUpdate = Certificate.milliseconds(this), let nextUpdate = Certificate.milliseconds(next) else {
            throw .malformed
        }
        switch status {
        case V_OCSP_CERTSTATUS_GOOD:
            return OCSPAnswer(status: .good, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        case V_OCSP_CERTSTATUS_REVOKED:
            guard let date = Certificate.milliseconds(revoked) else { throw .malformed }
            let revocation = OCSPAnswer.Revocation(date: date, reason: reason < 0 ? nil : Int(reason))
            return OCSPAnswer(status: .revoked(revocation), thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        default:
            return OCSPAnswer(status: .unknown, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
        }
    }
}
