import COpenSSL

/// Comparison of secrets.
package enum ConstantTime {
    /// Whether both are the same bytes, in a time that depends on their lengths only.
    package static func equal(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        guard one.count == other.count else { return false }
        return one.isEmpty || CRYPTO_memcmp(one, other, one.count) == 0
    }
}
