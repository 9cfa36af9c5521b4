import COpenSSL

/// An EC P-256 public key that checks ES256 signatures (RFC 7518 §3.4).
///
/// `@unchecked Sendable`: the `EVP_PKEY` is never changed after `init`, and OpenSSL counts its references atomically.
package final class VerificationKey: @unchecked Sendable {
    /// Bytes of a signature: r ‖ s, 32 each.
    package static let signatureSize = 64

    private let key: OpaquePointer

    /// Shares the certificate's key; nil unless it is an EC key on P-256.
    init?(sharing key: OpaquePointer) {
        guard EVP_PKEY_get_base_id(key) == EVP_PKEY_EC, VerificationKey.group(of: key) == "prime256v1",
            EVP_PKEY_up_ref(key) == 1
        else {
            OpenSSLErrors.drain()
            return nil
        }
        self.key = key
    }

    deinit {
        EVP_PKEY_free(key)
    }

    private static func group(of key: OpaquePointer) -> String? {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        guard EVP_PKEY_get_group_name(key, &name, name.count, &length) == 1 else { return nil }
        return String(decoding: name.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Whether `signature` is a signature of exactly these bytes by the owner of this key.
    /// False too for a signature that has not 64 bytes, or whose r or s is zero.
    package func verifies(_ signature: [UInt8], of message: ArraySlice<UInt8>) -> Bool {
        guard let der = VerificationKey.der(of: signature), let context = EVP_MD_CTX_new() else {
            OpenSSLErrors.drain()
            return false
        }
        defer { EVP_MD_CTX_free(context) }
        let valid = message.withUnsafeBufferPointer { message in
            EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, key) == 1
                && EVP_DigestVerify(context, der, der.count, message.baseAddress, message.count) == 1
        }
        if !valid {
            OpenSSLErrors.drain()
        }
        return valid
    }

    /// `ECDSA-Sig-Value` (RFC 3279 §2.2.3) of r ‖ s, which is what OpenSSL reads.
    private static func der(of signature: [UInt8]) -> [UInt8]? {
        guard signature.count == signatureSize, signature.prefix(32).contains(where: { $0 != 0 }),
            signature.suffix(32).contains(where: { $0 != 0 }), let value = ECDSA_SIG_new()
        else { return nil }
        defer { ECDSA_SIG_free(value) }
        let (r, s) = signature.withUnsafeBufferPointer { bytes in
            (BN_bin2bn(bytes.baseAddress, 32, nil), BN_bin2bn(bytes.baseAddress.map { $0 + 32 }, 32, nil))
        }
        // From here on `value` owns both numbers.
        guard let r, let s, ECDSA_SIG_set0(value, r, s) == 1 else {
            BN_free(r)
            BN_free(s)
            return nil
        }
        var encoded: UnsafeMutablePointer<UInt8>?
        let length = i2d_ECDSA_SIG(value, &encoded)
        defer { openssl_free(encoded) }
        guard length > 0, let encoded else { return nil }
        return Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
    }
}
