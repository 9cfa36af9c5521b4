import Base
import Crypto
import Glibc
import Synchronization

/// A compact JWS as the database keeps it: byte for byte restorable, at a tenth of its size.
///
/// The header (with its three certificates, 4.4 KB) is kept once; the payload is packed without that header, which it
/// repeats for each JWS inside (`HeaderDictionaries`); the signature stays as it is.
package struct StoredJWS: Sendable, Equatable {
    /// The header's id: the first 16 bytes of its SHA-256.
    package let headerID: [UInt8]
    /// The decoded payload, packed.
    package let payload: [UInt8]
    /// 64 bytes, r ‖ s.
    package let signature: [UInt8]

    /// The most that a payload may grow to when it is restored.
    package static let payloadLimit = 64 << 20

    package init(headerID: [UInt8], payload: [UInt8], signature: [UInt8]) {
        self.headerID = headerID
        self.payload = payload
        self.signature = signature
    }

    /// The JWS as it came. Readers of JWS take base64url in its one spelling only, so that nothing else could have come.
    ///
    /// - Parameters:
    ///   - header: as sent, in base64url.
    ///   - payload: restored (`HeaderDictionaries`).
    package func compact(header: [UInt8], payload: [UInt8]) -> [UInt8] {
        let dot = UInt8(ascii: ".")
        return header + [dot] + Base64.encodeURL(payload).utf8 + [dot] + Base64.encodeURL(signature).utf8
    }

    /// Headers that were asked for lately: Apple has one or two at a time, and comparing is cheaper than hashing 4.4 KB.
    private static let lately = Mutex<[(header: [UInt8], id: [UInt8])]>([])
    private static let latelyLimit = 4

    package static func headerID(_ header: [UInt8]) -> [UInt8] {
        let known = lately.withLock { $0 }
        if let found = known.first(where: { isSame($0.header, header) }) { return found.id }
        let id = Array(Digest.sha256(header).prefix(16))
        lately.withLock { $0 = [(header, id)] + $0.prefix(latelyLimit - 1) }
        return id
    }

    private static func isSame(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.withUnsafeBytes { left in
            other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress, one.count == other.count else {
                    return one.isEmpty && other.isEmpty
                }
                return memcmp(left, right, one.count) == 0
            }
        }
    }
}
