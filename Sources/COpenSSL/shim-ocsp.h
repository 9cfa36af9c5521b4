#pragma once
#include <openssl/crypto.h>
#include <openssl/objects.h>
#include <openssl/ocsp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// For asking responders: what OpenSSL offers as macros only, or in types that Swift cannot read.

/// A copy of the certificate's OCSP location of this index (RFC 5280 §4.2.2.1), to be freed by openssl_free; NULL where
/// there is none.
static inline char *openssl_ocsp_location(X509 *certificate, int index) {
    STACK_OF(OPENSSL_STRING) *locations = X509_get1_ocsp(certificate);
    char *copy = NULL;
    if (locations != NULL && index < sk_OPENSSL_STRING_num(locations)) {
        copy = OPENSSL_strdup(sk_OPENSSL_STRING_value(locations, index));
    }
    X509_email_free(locations);
    return copy;
}

/// The NID of the digest in the response's signature algorithm; NID_undef for one that is not known.
static inline int openssl_ocsp_digest(const OCSP_BASICRESP *response) {
    const X509_ALGOR *algorithm = OCSP_resp_get0_tbs_sigalg(response);
    const ASN1_OBJECT *identifier = NULL;
    int digest = NID_undef;
    if (algorithm == NULL) return NID_undef;
    X509_ALGOR_get0(&identifier, NULL, NULL, algorithm);
    if (identifier == NULL || OBJ_find_sigid_algs(OBJ_obj2nid(identifier), &digest, NULL) != 1) return NID_undef;
    return digest;
}
