import COpenSSL

/// A key pair for one answer: another process seals a secret to its public half, and whatever keeps the sealed bytes meanwhile
/// cannot read them. The private half is in this object alone, and gone with it.
///
/// X25519 (RFC 7748) with a pair of the sealer's own for each secret; the key of AES-256-GCM is SHA-256 over a counter, the shared
/// secret and both public keys (NIST SP 800-56C, one step).
///
/// `@unchecked Sendable`: the key is never changed after it was made, and OpenSSL lets threads share such a key.
package final class AnswerKey: @unchecked Sendable {
    /// Bytes of a public key.
    package static let size = 32

    /// What others seal to: 32 bytes.
    package let publicKey: [UInt8]
    private let key: OpaquePointer

    package convenience init() throws(SealingFailure) {
        try self.init(seed: SecureRandom.bytes(AnswerKey.size))
    }

    /// The pair of a private half of 32 bytes: the same each time, for a process that is asked again and again.
    package init(seed: [UInt8]) throws(SealingFailure) {
        guard seed.count == AnswerKey.size else { throw .wrongKeySize }
        guard let key = EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nil, seed, seed.count) else {
            OpenSSLErrors.drain()
            throw .cipherUnavailable
        }
        var length = AnswerKey.size
        var publicKey = [UInt8](repeating: 0, count: length)
        guard EVP_PKEY_get_raw_public_key(key, &publicKey, &length) == 1, length == publicKey.count else {
            EVP_PKEY_free(key)
            OpenSSLErrors.drain()
            throw .cipherUnavailable
        }
        self.key = key
        self.publicKey = publicKey
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// The sealer's public key ‖ what `Sealing` makes of the secret.
    ///
    /// - Parameters:
    ///   - publicKey: of the pair that opens it.
    ///   - context: must be the same when it is opened.
    /// - Throws: `wrongKeySize` also for a key with which no secret can be shared.
    package static func seal(
        _ secret: [UInt8], to publicKey: [UInt8], context: String
    ) throws(SealingFailure) -> [UInt8] {
        guard publicKey.count == size else { throw .wrongKeySize }
        let own = try AnswerKey()
        guard let key = own.shared(with: publicKey, sealer: own.publicKey, opener: publicKey) else {
            throw .wrongKeySize
        }
        return own.publicKey + (try Sealing.seal(secret, key: key, associatedData: Array(context.utf8)))
    }

    /// The secret; nil for what was sealed to another key, in another context, or is no sealed secret.
    package func open(_ sealed: [UInt8], context: String) -> [UInt8]? {
        let sealer = Array(sealed.prefix(AnswerKey.size))
        guard sealer.count == AnswerKey.size,
            let key = shared(with: sealer, sealer: sealer, opener: publicKey)
        else { return nil }
        return Sealing.open(Array(sealed.dropFirst(AnswerKey.size)), key: key, associatedData: Array(context.utf8))
    }

    /// Nil where the other key is of low order, or OpenSSL cannot.
    private func shared(with other: [UInt8], sealer: [UInt8], opener: [UInt8]) -> [UInt8]? {
        guard let peer = EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nil, other, other.count) else {
            OpenSSLErrors.drain()
            return nil
        }
        defer { EVP_PKEY_free(peer) }
        guard let context = EVP_PKEY_CTX_new(key, nil) else { return nil }
        defer { EVP_PKEY_CTX_free(context) }
        var length = AnswerKey.size
        var secret = [UInt8](repeating: 0, count: length)
        guard EVP_PKEY_derive_init(context) == 1, EVP_PKEY_derive_set_peer(context, peer) == 1,
            EVP_PKEY_derive(context, &secret, &length) == 1, length == secret.count, secret.contains(where: { $0 != 0 })
        else {
            OpenSSLErrors.drain()
            return nil
        }
        return Digest.sha256([0, 0, 0, 1] + secret + Array("entitled answer key".utf8) + sealer + opener)
    }
}
