import Base
import COpenSSL

/// A private key on P-256 or P-384, for issuing and for tokens: the daemon signs nothing with it that it later trusts.
///
/// `@unchecked Sendable`: the key is never changed after it was made, and OpenSSL lets threads share such a key.
package final class SigningKey: @unchecked Sendable {
    package enum Curve: String, Sendable {
        case p256 = "P-256"
        case p384 = "P-384"

        fileprivate var bits: Int32 { self == .p256 ? 256 : 384 }
    }

    package let curve: Curve
    let key: OpaquePointer

    /// A fresh key.
    package static func generate(_ curve: Curve) throws(IssuingError) -> SigningKey {
        guard let key = entitled_issuing_new_ec_key(curve.rawValue) else {
            throw IssuingError("make a key on \(curve.rawValue)")
        }
        return SigningKey(key, curve)
    }

    /// Reads PKCS#8 (`PRIVATE KEY`), as Apple's `.p8` files have it, or SEC 1 (`EC PRIVATE KEY`).
    package convenience init(pem: String) throws(IssuingError) {
        let blocks = (PEMBlock.decode("PRIVATE KEY", pem) ?? []) + (PEMBlock.decode("EC PRIVATE KEY", pem) ?? [])
        guard let der = blocks.first else { throw IssuingError(what: "the text contains no private key in PEM") }
        try self.init(der: der)
    }

    /// Reads the DER of PKCS#8 or SEC 1.
    package convenience init(der: [UInt8]) throws(IssuingError) {
        let key = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            return d2i_AutoPrivateKey(nil, &next, bytes.count)
        }
        guard let key else { throw IssuingError("read a private key") }
        let isElliptic = EVP_PKEY_is_a(key, "EC") == 1
        guard isElliptic, let curve = [Curve.p256, .p384].first(where: { $0.bits == EVP_PKEY_get_bits(key) }) else {
            EVP_PKEY_free(key)
            throw IssuingError(what: "the private key is neither on P-256 nor on P-384")
        }
        self.init(key, curve)
    }

    private init(_ key: OpaquePointer, _ curve: Curve) {
        self.key = key
        self.curve = curve
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// PKCS#8 in PEM, not encrypted: a file with it must have mode 0600.
    package func pem() throws(IssuingError) -> String {
        guard let info = EVP_PKEY2PKCS8(key) else { throw IssuingError("write a private key") }
        defer { PKCS8_PRIV_KEY_INFO_free(info) }
        return PEMBlock.encode("PRIVATE KEY", encoded { i2d_PKCS8_PRIV_KEY_INFO(info, $0) })
    }

    /// The public half as SubjectPublicKeyInfo (RFC 5280 §4.1.2.7) in DER.
    package func publicKey() -> [UInt8] {
        encoded { i2d_PUBKEY(key, $0) }
    }

    /// What checks this key's ES256 signatures; nil unless it is on P-256.
    package var verificationKey: VerificationKey? { VerificationKey(sharing: key) }

    /// ECDSA with SHA-256 as `r ‖ s`, 32 bytes each (JWS ES256, RFC 7518 §3.4). Only for P-256.
    package func signES256(_ message: [UInt8]) throws(IssuingError) -> [UInt8] {
        guard curve == .p256 else { throw IssuingError(what: "ES256 needs a key on P-256") }
        let der = try signDER(message)
        let signature = der.withUnsafeBufferPointer { bytes -> OpaquePointer? in
            var next = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &next, bytes.count)
        }
        guard let signature else { throw IssuingError("read its own signature") }
        defer { ECDSA_SIG_free(signature) }
        var raw = [UInt8](repeating: 0, count: 64)
        let isWritten = raw.withUnsafeMutableBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return false }
            return BN_bn2binpad(ECDSA_SIG_get0_r(signature), start, 32) == 32
                && BN_bn2binpad(ECDSA_SIG_get0_s(signature), start + 32, 32) == 32
        }
        guard isWritten else { throw IssuingError("write a signature") }
        return raw
    }

    /// ECDSA with SHA-256 as an ASN.1 sequence in DER (RFC 3279 §2.2.3).
    package func signDER(_ message: [UInt8]) throws(IssuingError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw IssuingError("sign") }
        defer { EVP_MD_CTX_free(context) }
        var length = Int(EVP_PKEY_get_size(key))
        var signature = [UInt8](repeating: 0, count: length)
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
            EVP_DigestSign(context, &signature, &length, message, message.count) == 1, length <= signature.count
        else { throw IssuingError("sign") }
        signature.removeLast(signature.count - length)
        return signature
    }
}

/// The bytes that one of OpenSSL's `i2d` functions writes: called once for the length, once for the bytes.
func encoded(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let length = Int(write(nil))
    guard length > 0 else { return [] }
    return [UInt8](unsafeUninitializedCapacity: length) { buffer, count in
        var next = buffer.baseAddress
        count = max(0, min(length, Int(write(&next))))
    }
}
