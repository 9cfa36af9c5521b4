import CZstd

/// Bytes that compressed data may refer to, such as the certificate chain that every payload repeats, and how often each
/// byte is to be expected in what is left.
///
/// Without tables it is a raw-content dictionary, with them a formatted one (RFC 8878 §5): short texts have no room for
/// tables of their own, so that these save up to a fifth of them. Frames made with tables name the dictionary (id 1). Frames made
/// before there were tables name none, and are read with the content alone.
///
/// What zstd prepares from it is kept, so keep the object. What was compressed with a dictionary is read only with the
/// same bytes.
///
/// `@unchecked Sendable`: zstd never changes prepared dictionaries (zstd.h: "can be shared by multiple threads").
package final class ZstdDictionary: @unchecked Sendable {
    package let content: [UInt8]
    let forCompression: OpaquePointer
    private let withTables: OpaquePointer
    private let withoutTables: OpaquePointer

    /// Fails for content that begins like a formatted dictionary but is none, for damaged tables, and when out of memory.
    ///
    /// - Parameter tables: the beginning of a formatted dictionary, up to its content, as `ZDICT_finalizeDictionary` makes it
    ///   from many texts; empty: none.
    package init(_ content: [UInt8], tables: [UInt8] = []) throws(ZstdError) {
        let whole = tables + content
        var made: [OpaquePointer] = []
        guard let forCompression = ZSTD_createCDict(whole, whole.count, Zstd.level) else {
            throw ZstdDictionary.unusable
        }
        for bytes in [whole, content] {
            guard let dictionary = ZSTD_createDDict(bytes, bytes.count) else { break }
            made.append(dictionary)
        }
        guard made.count == 2 else {
            ZSTD_freeCDict(forCompression)
            for dictionary in made { ZSTD_freeDDict(dictionary) }
            throw ZstdDictionary.unusable
        }
        self.content = content
        self.forCompression = forCompression
        (withTables, withoutTables) = (made[0], made[1])
    }

    private static let unusable = ZstdError(message: "the dictionary cannot be used")

    func forDecompression(of frame: [UInt8]) -> OpaquePointer {
        ZSTD_getDictID_fromFrame(frame, frame.count) == 0 ? withoutTables : withTables
    }

    deinit {
        ZSTD_freeCDict(forCompression)
        ZSTD_freeDDict(withTables)
        ZSTD_freeDDict(withoutTables)
    }
}
