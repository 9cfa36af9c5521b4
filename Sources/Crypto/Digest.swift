import COpenSSL

/// SHA-256 and what is built on it.
package enum Digest {
    /// Bytes of a SHA-256 value.
    package static let size = 32

    /// SHA-256 (FIPS 180-4) of the bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { output, count in
            let done = EVP_Digest(bytes, bytes.count, output.baseAddress, nil, EVP_sha256(), nil)
            // A digest that everybody shares would be worse than no process: this needs an OpenSSL without SHA-256.
            precondition(done == 1, "OpenSSL has no SHA-256")
            count = size
        }
    }

    /// HMAC with SHA-256 (RFC 2104). The key may have any length.
    package static func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: size) { output, count in
            let done = key.withUnsafeBytes { key in
                message.withUnsafeBytes { message in
                    var empty: UInt8 = 0
                    return withUnsafePointer(to: &empty) { empty in
                        HMAC(
                            EVP_sha256(), key.baseAddress ?? UnsafeRawPointer(empty), CInt(clamping: key.count),
                            message.baseAddress?.assumingMemoryBound(to: UInt8.self) ?? empty, message.count,
                            output.baseAddress, nil)
                    }
                }
            }
            precondition(done != nil, "OpenSSL has no HMAC with SHA-256")
            count = size
        }
    }
}

/// SHA-256 of bytes that come in parts.
package final class RunningDigest {
    private let context: OpaquePointer?

    package init() {
        context = EVP_MD_CTX_new()
        precondition(EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1, "OpenSSL has no SHA-256")
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    package func update(_ bytes: [UInt8]) {
        precondition(EVP_DigestUpdate(context, bytes, bytes.count) == 1, "OpenSSL has no SHA-256")
    }

    /// The digest of everything; once, at the end.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.size) { output, count in
            precondition(EVP_DigestFinal_ex(context, output.baseAddress, nil) == 1, "OpenSSL has no SHA-256")
            count = Digest.size
        }
    }
}
