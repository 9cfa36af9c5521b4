import CZstd

/// zstd frames (RFC 8878) with a checksum of what is in them, so that damage and a wrong dictionary are noticed.
package enum Zstd {
    static let level: Int32 = 3

    private static let compressors = ContextPool { ZSTD_createCCtx() }
    private static let decompressors = ContextPool { ZSTD_createDCtx() }

    /// One frame; fails only when out of memory.
    package static func compress(
        _ bytes: [UInt8], dictionary: ZstdDictionary? = nil
    ) throws(ZstdError) -> [UInt8] {
        try compressors.use { context throws(ZstdError) in
            try check(ZSTD_CCtx_reset(context, ZSTD_reset_session_and_parameters))
            try check(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level))
            try check(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1))
            if let dictionary {
                try check(ZSTD_CCtx_refCDict(context, dictionary.forCompression))
            }
            return try fill(ZSTD_compressBound(bytes.count)) { output in
                ZSTD_compress2(context, output.baseAddress, output.count, bytes, bytes.count)
            }
        }
    }

    /// What was compressed, with the same dictionary.
    ///
    /// Fails for anything but whole, undamaged frames, and for more than `limit` bytes before they are made.
    package static func decompress(
        _ bytes: [UInt8], dictionary: ZstdDictionary? = nil, limit: Int
    ) throws(ZstdError) -> [UInt8] {
        let stated = ZSTD_getFrameContentSize(bytes, bytes.count)
        // zstd.h: -1 is "unknown", -2 is "error"; our own frames always say their size.
        guard stated < UInt64.max - 1 else { throw ZstdError(message: "no frame that says its size") }
        guard stated <= UInt64(max(0, limit)) else { throw ZstdError(message: "more than \(limit) bytes") }
        return try decompressors.use { context throws(ZstdError) in
            try check(ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters))
            if let dictionary {
                try check(ZSTD_DCtx_refDDict(context, dictionary.forDecompression(of: bytes)))
            }
            return try fill(Int(stated)) { output in
                ZSTD_decompressDCtx(context, output.baseAddress, output.count, bytes, bytes.count)
            }
        }
    }

    private static func fill(
        _ capacity: Int, _ body: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) throws(ZstdError) -> [UInt8] {
        var status = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: capacity) { output, count in
            status = body(output)
            count = ZSTD_isError(status) == 0 ? min(status, capacity) : 0
        }
        try check(status)
        return bytes
    }

    private static func check(_ status: Int) throws(ZstdError) {
        guard ZSTD_isError(status) == 0 else {
            throw ZstdError(message: ZSTD_getErrorName(status).map { String(cString: $0) } ?? "failed")
        }
    }
}
