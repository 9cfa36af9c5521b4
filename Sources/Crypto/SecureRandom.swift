import COpenSSL

/// Random bytes that cannot be guessed.
package enum SecureRandom {
    /// `count` bytes of OpenSSL's generator, or of the kernel's should that one fail.
    package static func bytes(_ count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: count)
        guard RAND_bytes(&bytes, CInt(clamping: count)) == 1 else {
            OpenSSLErrors.drain()
            var kernel = SystemRandomNumberGenerator()
            return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &kernel) }
        }
        return bytes
    }
}
