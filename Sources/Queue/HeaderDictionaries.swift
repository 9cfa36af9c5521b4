import Base
import Compression
import Crypto
import Synchronization

/// Compression of payloads with their JWS header as the dictionary; few headers exist at a time, so they are kept.
package final class HeaderDictionaries: Sendable {
    private let known = Mutex<[[UInt8]: ZstdDictionary]>([:])
    private static let limit = 64

    package init() {}

    package func compress(_ payload: [UInt8], header: [UInt8], id: [UInt8]) throws -> [UInt8] {
        try Zstd.compress(payload, dictionary: try dictionary(header, id))
    }

    /// The decoded payload of a stored JWS.
    ///
    /// - Throws: when the bytes are not what was stored.
    package func restore(_ stored: StoredJWS, header: [UInt8]) throws -> [UInt8] {
        try Zstd.decompress(
            stored.payload, dictionary: try dictionary(header, stored.headerID), limit: StoredJWS.payloadLimit)
    }

    private func dictionary(_ header: [UInt8], _ id: [UInt8]) throws -> ZstdDictionary {
        if let dictionary = known.withLock({ $0[id] }) { return dictionary }
        let dictionary = try ZstdDictionary(header)
        known.withLock { known in
            if known.count >= HeaderDictionaries.limit { known.removeAll() }
            known[id] = dictionary
        }
        return dictionary
    }
}
