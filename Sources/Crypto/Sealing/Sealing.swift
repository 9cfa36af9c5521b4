import COpenSSL

/// Authenticated encryption of small secrets: AES-256-GCM (NIST SP 800-38D) with a random nonce.
///
/// A random 96-bit nonce is safe for some 2³² sealings under one key.
package enum Sealing {
    /// Bytes of a key.
    package static let keySize = 32
    private static let nonceSize = 12
    private static let tagSize = 16

    /// Nonce ‖ ciphertext ‖ tag. `associatedData` is not in it, but must be the same when it is opened:
    /// it ties the sealed bytes to the place where they are stored.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], associatedData: [UInt8]
    ) throws(SealingFailure) -> [UInt8] {
        guard key.count == keySize else { throw .wrongKeySize }
        let nonce = SecureRandom.bytes(nonceSize)
        guard let cipher = Cipher(), cipher.start(encrypting: true, key: key, nonce: nonce),
            cipher.add(associatedData: associatedData), let ciphertext = cipher.transform(plaintext),
            cipher.finish(), let tag = cipher.tag(size: tagSize)
        else {
            OpenSSLErrors.drain()
            throw .cipherUnavailable
        }
        return nonce + ciphertext + tag
    }

    /// The plaintext; nil for another key, other associated data, or bytes that `seal` did not make.
    package static func open(_ sealed: [UInt8], key: [UInt8], associatedData: [UInt8]) -> [UInt8]? {
        guard key.count == keySize, sealed.count >= nonceSize + tagSize else { return nil }
        let nonce = Array(sealed.prefix(nonceSize))
        let tag = Array(sealed.suffix(tagSize))
        let ciphertext = Array(sealed.dropFirst(nonceSize).dropLast(tagSize))
        guard let cipher = Cipher(), cipher.start(encrypting: false, key: key, nonce: nonce),
            cipher.add(associatedData: associatedData), let plaintext = cipher.transform(ciphertext),
            cipher.expect(tag: tag), cipher.finish()
        else {
            OpenSSLErrors.drain()
            return nil
        }
        return plaintext
    }
}

/// Why nothing was sealed.
package enum SealingFailure: Error, Equatable {
    /// The key has not 32 bytes.
    case wrongKeySize
    /// OpenSSL has no AES-256-GCM, or no memory.
    case cipherUnavailable
}

/// One run of AES-256-GCM.
private final class Cipher {
    private let context: OpaquePointer

    init?() {
        guard let context = EVP_CIPHER_CTX_new() else { return nil }
        self.context = context
    }

    deinit {
        EVP_CIPHER_CTX_free(context)
    }

    func start(encrypting: Bool, key: [UInt8], nonce: [UInt8]) -> Bool {
        EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, encrypting ? 1 : 0) == 1
    }

    func add(associatedData: [UInt8]) -> Bool {
        var written: CInt = 0
        return associatedData.isEmpty
            || EVP_CipherUpdate(context, nil, &written, associatedData, CInt(clamping: associatedData.count)) == 1
    }

    func transform(_ input: [UInt8]) -> [UInt8]? {
        guard !input.isEmpty else { return [] }
        var output = [UInt8](repeating: 0, count: input.count)
        var written: CInt = 0
        guard EVP_CipherUpdate(context, &output, &written, input, CInt(clamping: input.count)) == 1,
            Int(written) == input.count
        else { return nil }
        return output
    }

    func finish() -> Bool {
        var rest = [UInt8](repeating: 0, count: 16)
        var written: CInt = 0
        return EVP_CipherFinal_ex(context, &rest, &written) == 1
    }

    func tag(size: Int) -> [UInt8]? {
        var tag = [UInt8](repeating: 0, count: size)
        return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, CInt(size), &tag) == 1 ? tag : nil
    }

    func expect(tag: [UInt8]) -> Bool {
        var tag = tag
        return EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, CInt(tag.count), &tag) == 1
    }
}
