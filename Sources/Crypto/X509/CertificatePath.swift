import COpenSSL

/// The path of certificates that Apple signs with: a leaf, one intermediate, a root.
package struct CertificatePath: Sendable {
    package let leaf: Certificate
    package let intermediate: Certificate
    /// Trusted already: a path does not make its root trusted.
    package let anchor: Certificate

    package init(leaf: Certificate, intermediate: Certificate, anchor: Certificate) {
        self.leaf = leaf
        self.intermediate = intermediate
        self.anchor = anchor
    }

    /// Whether exactly this path is valid at an instant, milliseconds since 1970 (RFC 5280 §6): signatures, names,
    /// dates, authority, path length, name constraints, no unknown critical extension, and at least 112 bits of
    /// security in keys and digests.
    ///
    /// An intermediate without basic constraints is no authority, whatever its key usage says (OpenSSL is strict
    /// there). Otherwise not strict in OpenSSL's sense (`X509_V_FLAG_X509_STRICT`): that asks for key identifiers, which
    /// the roots of Apple's own test data have not. Revocation is not looked up.
    package func isValid(at date: Int64) -> Bool {
        let valid = verify(seconds: Int((Double(date) / 1000).rounded(.down)))
        if !valid {
            OpenSSLErrors.drain()
        }
        return valid
    }

    private func verify(seconds: Int) -> Bool {
        guard let store = X509_STORE_new(), let context = X509_STORE_CTX_new(), let untrusted = openssl_x509_stack()
        else { return false }
        defer {
            X509_STORE_CTX_free(context)
            X509_STORE_free(store)
            openssl_x509_stack_free(untrusted)
        }
        // The certificate that was sent as root is not given to OpenSSL at all, unless it is the anchor itself.
        guard X509_STORE_add_cert(store, anchor.x509) == 1,
            openssl_x509_stack_push(untrusted, intermediate.x509) == 1,
            X509_STORE_CTX_init(context, store, leaf.x509, untrusted) == 1,
            let parameters = X509_STORE_CTX_get0_param(context),
            X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_ANY) == 1
        else { return false }
        X509_VERIFY_PARAM_set_time(parameters, seconds)
        X509_VERIFY_PARAM_set_depth(parameters, 1)
        X509_VERIFY_PARAM_set_auth_level(parameters, 2)
        guard X509_verify_cert(context) == 1, let found = X509_STORE_CTX_get0_chain(context),
            openssl_x509_stack_count(found) == 3
        else { return false }
        // A leaf that the root had issued directly would have passed too, in a path without this intermediate.
        return X509_cmp(openssl_x509_stack_at(found, 0), leaf.x509) == 0
            && X509_cmp(openssl_x509_stack_at(found, 1), intermediate.x509) == 0
            && X509_cmp(openssl_x509_stack_at(found, 2), anchor.x509) == 0
    }
}
