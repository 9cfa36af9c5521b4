#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/conf.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// For issuing certificates: what OpenSSL offers only as macros or variadic functions.

/// A fresh key on the named curve ("P-256", "P-384"); NULL on failure.
static inline EVP_PKEY *entitled_issuing_new_ec_key(const char *curve) {
    return EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);
}

/// Adds an extension written in OpenSSL's configuration syntax; `sections` holds what the value refers to.
/// `issuer` is the subject itself for a root. 1, or 0 on failure.
static inline int entitled_issuing_add_extension(
    X509 *certificate, X509 *issuer, int nid, const char *value, const char *sections) {
    int added = 0;
    CONF *configuration = NCONF_new(NULL);
    BIO *text = BIO_new_mem_buf(sections, -1);
    long line = 0;
    if (configuration != NULL && text != NULL && NCONF_load_bio(configuration, text, &line) == 1) {
        X509V3_CTX context;
        X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
        X509V3_set_nconf(&context, configuration);
        X509_EXTENSION *extension = X509V3_EXT_nconf_nid(configuration, &context, nid, value);
        added = extension != NULL && X509_add_ext(certificate, extension, -1) == 1;
        X509_EXTENSION_free(extension);
    }
    BIO_free(text);
    NCONF_free(configuration);
    return added;
}
