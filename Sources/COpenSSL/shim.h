#pragma once
#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/objects.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// What OpenSSL offers as macros only, which Swift does not import.

static inline STACK_OF(X509) *openssl_x509_stack(void) { return sk_X509_new_null(); }
static inline int openssl_x509_stack_push(STACK_OF(X509) *stack, X509 *certificate) {
    return sk_X509_push(stack, certificate);
}
static inline void openssl_x509_stack_free(STACK_OF(X509) *stack) { sk_X509_free(stack); }
static inline int openssl_x509_stack_count(const STACK_OF(X509) *stack) { return sk_X509_num(stack); }
static inline X509 *openssl_x509_stack_at(const STACK_OF(X509) *stack, int index) {
    return sk_X509_value(stack, index);
}

static inline long openssl_bio_data(BIO *bio, char **data) { return BIO_get_mem_data(bio, data); }

// `CN=…, O=…, C=…` in the order of the certificate; UTF-8 as it is, control characters escaped.
static inline int openssl_print_name(BIO *bio, const X509_NAME *name) {
    const unsigned long text = ASN1_STRFLGS_RFC2253 & ~ASN1_STRFLGS_ESC_MSB;
    return X509_NAME_print_ex(bio, name, 0, text | XN_FLAG_SEP_CPLUS_SPC | XN_FLAG_FN_SN);
}

static inline void openssl_free(void *memory) { OPENSSL_free(memory); }

#include "shim-ocsp.h"
#include "shim-issuing.h"
#include "shim-pkcs7.h"
