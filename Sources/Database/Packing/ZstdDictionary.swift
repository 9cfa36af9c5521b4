import Base
import CZstd

/// Bytes that compressed data may refer to, such as the certificate chain that every payload repeats, with or without
/// entropy tables.
///
/// Without tables it is a raw-content dictionary, with them a formatted one (RFC 8878 §5): short texts have no room for
/// entropy tables of their own, so that these save up to a fifth of them. Frames made with tables name the dictionary (id 1).
/// Frames made before there were tables name none, and are read with the content alone.
///
/// What zstd prepares from it is kept, so keep the object. What was compressed with a dictionary is read only with the
/// same bytes.
///
/// `@unchecked Sendable`: zstd never changes prepared dictionaries (zstd.h: "can be shared by multiple threads").
package final class ZstdDictionary: @unchecked Sendable {
    /// Tables and content.
    package let bytes: [UInt8]
    let forCompression: OpaquePointer
    /// For frames that name the dictionary; nil without tables.
    private let named: OpaquePointer?
    /// For frames that name none.
    private let unnamed: OpaquePointer

    private static let id: UInt32 = 1

    /// Fails for content that begins like a formatted dictionary but is none, for tables that are none of a dictionary with
    /// id 1, with less than 8 bytes of content beside tables, and when out of memory.
    ///
    /// - Parameter tables: base64 of the beginning of a formatted dictionary, up to its content, as `ZDICT_finalizeDictionary`
    ///   makes it from many texts; empty: none.
    package init(_ content: [UInt8], tables: String = "") throws(ZstdError) {
        let unusable = ZstdError(message: "the dictionary cannot be used")
        guard let tables = Base64.decode(tables.utf8) else { throw unusable }
        let bytes = tables + content
        guard let forCompression = ZSTD_createCDict(bytes, bytes.count, Zstd.level) else { throw unusable }
        guard let unnamed = ZSTD_createDDict(content, content.count) else {
            ZSTD_freeCDict(forCompression)
            throw unusable
        }
        let named = tables.isEmpty ? nil : ZSTD_createDDict(bytes, bytes.count)
        guard tables.isEmpty || named.map(ZSTD_getDictID_fromDDict) == ZstdDictionary.id else {
            ZSTD_freeCDict(forCompression)
            ZSTD_freeDDict(unnamed)
            ZSTD_freeDDict(named)
            throw unusable
        }
        (self.bytes, self.forCompression, self.named, self.unnamed) = (bytes, forCompression, named, unnamed)
    }

    func forDecompression(of frame: [UInt8]) -> OpaquePointer {
        guard let named, ZSTD_getDictID_fromFrame(frame, frame.count) != 0 else { return unnamed }
        return named
    }

    deinit {
        ZSTD_freeCDict(forCompression)
        ZSTD_freeDDict(unnamed)
        ZSTD_freeDDict(named)
    }
}
