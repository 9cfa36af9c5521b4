#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/pkcs7.h>
#include <openssl/x509.h>

// For signed messages (RFC 2315): what OpenSSL offers only in structures with unions, which Swift cannot read.

/// The signed data's octets, owned by the message; NULL where they are not there. Checks nothing.
static inline const ASN1_OCTET_STRING *openssl_pkcs7_content(const PKCS7 *message) {
    if (message == NULL || !PKCS7_type_is_signed(message) || message->d.sign == NULL) return NULL;
    const PKCS7 *contents = message->d.sign->contents;
    if (contents == NULL || !PKCS7_type_is_data(contents)) return NULL;
    return contents->d.data;
}

/// How many certificates came with it, and one of them, owned by the message.
static inline int openssl_pkcs7_certificate_count(const PKCS7 *message) {
    if (message == NULL || !PKCS7_type_is_signed(message) || message->d.sign == NULL) return 0;
    const int count = sk_X509_num(message->d.sign->cert);
    return count < 0 ? 0 : count;
}
static inline X509 *openssl_pkcs7_certificate(const PKCS7 *message, int index) {
    return sk_X509_value(message->d.sign->cert, index);
}

/// Its only signer's certificate, owned by the message; NULL where there is another number of signers, or its certificate
/// did not come.
static inline X509 *openssl_pkcs7_signer(PKCS7 *message) {
    if (message == NULL || !PKCS7_type_is_signed(message) || message->d.sign == NULL) return NULL;
    STACK_OF(PKCS7_SIGNER_INFO) *infos = PKCS7_get_signer_info(message);
    if (infos == NULL || sk_PKCS7_SIGNER_INFO_num(infos) != 1) return NULL;
    STACK_OF(X509) *signers = PKCS7_get0_signers(message, NULL, 0);
    if (signers == NULL) return NULL;
    X509 *signer = sk_X509_num(signers) == 1 ? sk_X509_value(signers, 0) : NULL;
    sk_X509_free(signers);
    return signer;
}

/// The NID of the digest that its only signer signed; NID_undef for one that is not known.
static inline int openssl_pkcs7_digest(PKCS7 *message) {
    STACK_OF(PKCS7_SIGNER_INFO) *infos = PKCS7_get_signer_info(message);
    if (infos == NULL || sk_PKCS7_SIGNER_INFO_num(infos) != 1) return NID_undef;
    X509_ALGOR *digest = NULL;
    PKCS7_SIGNER_INFO_get0_algs(sk_PKCS7_SIGNER_INFO_value(infos, 0), NULL, &digest, NULL);
    const ASN1_OBJECT *identifier = NULL;
    if (digest == NULL) return NID_undef;
    X509_ALGOR_get0(&identifier, NULL, NULL, digest);
    return identifier == NULL ? NID_undef : OBJ_obj2nid(identifier);
}

/// Whether the signer's certificate made the signature of the content. Says nothing about the certificate.
static inline int openssl_pkcs7_is_signed(PKCS7 *message) {
    return PKCS7_verify(message, NULL, NULL, NULL, NULL, PKCS7_NOVERIFY) == 1;
}
