import COpenSSL

/// Slow derivation from passwords (RFC 7914), by OpenSSL's key derivation `SCRYPT`.
package enum Scrypt {
    /// What one derivation costs: memory of 128 · 2^`logN` · `r` bytes, `p` times over.
    package struct Cost: Sendable, Equatable {
        package let logN: Int
        package let r: Int
        package let p: Int

        package init(logN: Int, r: Int, p: Int) {
            (self.logN, self.r, self.p) = (logN, r, p)
        }
    }

    /// Bytes that OpenSSL may use at most; a cost above it derives nothing.
    private static let memoryLimit: UInt64 = 64 << 20

    /// `count` bytes; nil for a cost that is impossible or needs too much memory.
    package static func derive(_ password: [UInt8], salt: [UInt8], _ cost: Cost, count: Int) -> [UInt8]? {
        guard (1..<24).contains(cost.logN), cost.r > 0, cost.p > 0, count > 0 else { return nil }
        var output = [UInt8](repeating: 0, count: count)
        let done = password.withUnsafeBytes { password in
            // An empty array may have no address, which OpenSSL would take as a question whether the cost is possible.
            var empty: CChar = 0
            return withUnsafePointer(to: &empty) { empty in
                EVP_PBE_scrypt(
                    password.baseAddress?.assumingMemoryBound(to: CChar.self) ?? empty, password.count, salt,
                    salt.count,
                    UInt64(1) << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p), memoryLimit, &output, count)
            }
        }
        guard done == 1 else {
            OpenSSLErrors.drain()
            return nil
        }
        return output
    }
}
