import COpenSSL

/// A key pair for ed25519 signatures (RFC 8032, pure: the message itself is signed).
///
/// `@unchecked Sendable`: the key is never changed after it was made, and OpenSSL lets threads share such a key.
package final class Ed25519Key: @unchecked Sendable {
    /// Bytes of the private half (RFC 8032 §5.1.5), and of the public one.
    package static let size = 32
    /// Bytes of a signature: R ‖ S.
    package static let signatureSize = 64

    /// 32 bytes.
    package let publicKey: [UInt8]
    private let key: OpaquePointer

    /// The pair that follows from 32 secret bytes; nil for any other number of bytes.
    package init?(seed: [UInt8]) {
        guard seed.count == Ed25519Key.size,
            let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, seed, seed.count)
        else {
            OpenSSLErrors.drain()
            return nil
        }
        var length = Ed25519Key.size
        var publicKey = [UInt8](repeating: 0, count: length)
        guard EVP_PKEY_get_raw_public_key(key, &publicKey, &length) == 1, length == publicKey.count else {
            EVP_PKEY_free(key)
            OpenSSLErrors.drain()
            return nil
        }
        self.key = key
        self.publicKey = publicKey
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Nil where OpenSSL cannot (no memory).
    package func sign(_ message: [UInt8]) -> [UInt8]? {
        guard let context = EVP_MD_CTX_new() else { return nil }
        defer { EVP_MD_CTX_free(context) }
        var length = Ed25519Key.signatureSize
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSignInit(context, nil, nil, nil, key) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length == signature.count
        else {
            OpenSSLErrors.drain()
            return nil
        }
        return signature
    }
}
