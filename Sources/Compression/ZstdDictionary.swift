import CZstd

/// Bytes that compressed data may refer to, such as the certificate chain that every payload repeats (a raw-content
/// dictionary: no training, RFC 8878 §5).
///
/// What zstd prepares from it is kept, so keep the object. What was compressed with a dictionary is read only with the
/// same bytes.
///
/// `@unchecked Sendable`: zstd never changes prepared dictionaries (zstd.h: "can be shared by multiple threads").
package final class ZstdDictionary: @unchecked Sendable {
    package let content: [UInt8]
    let forCompression: OpaquePointer
    let forDecompression: OpaquePointer

    /// Fails for bytes that begin like a trained dictionary but are none, and when out of memory.
    package init(_ content: [UInt8]) throws(ZstdError) {
        guard let forCompression = ZSTD_createCDict(content, content.count, Zstd.level) else {
            throw ZstdError(message: "the dictionary cannot be used")
        }
        guard let forDecompression = ZSTD_createDDict(content, content.count) else {
            ZSTD_freeCDict(forCompression)
            throw ZstdError(message: "the dictionary cannot be used")
        }
        self.content = content
        self.forCompression = forCompression
        self.forDecompression = forDecompression
    }

    deinit {
        ZSTD_freeCDict(forCompression)
        ZSTD_freeDDict(forDecompression)
    }
}
