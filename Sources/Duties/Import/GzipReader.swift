import CZlib

/// Reads gzip files (RFC 1952), of one member or several, part by part: in constant memory however much is in them.
///
/// Not `Sendable`: one thread reads at a time.
final class GzipReader {
    /// Why the rest cannot be read, as a sentence about the file.
    struct Flaw: Error, Sendable, Equatable, CustomStringConvertible {
        let description: String
    }

    /// How such a file begins.
    static let mark: [UInt8] = [0x1f, 0x8b]

    private static let portion = 1 << 16

    // zlib keeps its address.
    private let stream: UnsafeMutablePointer<z_stream>
    /// At most so many further bytes as they are in the file; none: the end.
    private let source: (Int) throws -> [UInt8]
    private var input: [UInt8] = []
    private var place = 0
    /// Bytes of the file that were taken so far.
    private var taken: Int64 = 0
    private var isInMember = true
    private var isOver = false

    /// - Parameter source: gives at most so many further bytes of the file; none: its end.
    init(_ source: @escaping (Int) throws -> [UInt8]) throws(Flaw) {
        self.source = source
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        guard czlib_begin_gunzip(stream) == Z_OK else { throw GzipReader.exhausted }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    private static let exhausted = Flaw(description: "there is not enough memory to unpack it")

    /// Up to so many further bytes of what was packed; none: the end.
    ///
    /// - Throws: `Flaw`, and what the source throws. Nothing can be read after it.
    func read(atMost count: Int) throws -> [UInt8] {
        while !isOver {
            if place == input.count {
                (input, place) = (try source(GzipReader.portion), 0)
                guard !input.isEmpty else {
                    guard !isInMember else {
                        throw Flaw(description: "its gzip data are cut off: it was not copied whole")
                    }
                    isOver = true
                    break
                }
            }
            if !isInMember { try begin() }
            let bytes = try inflate(atMost: max(1, count))
            if !bytes.isEmpty { return bytes }
        }
        return []
    }

    /// The next member, at a byte that follows the end of one.
    private func begin() throws(Flaw) {
        guard input[place] == GzipReader.mark[0] else {
            throw Flaw(description: "its gzip data end at byte \(taken), and something else follows")
        }
        inflateReset(stream)
        isInMember = true
    }

    private func inflate(atMost count: Int) throws(Flaw) -> [UInt8] {
        var status = Z_OK
        var left: UInt32 = 0
        let offered = min(input.count - place, GzipReader.portion)
        let room = min(count, 1 << 20)
        let bytes = [UInt8](unsafeUninitializedCapacity: room) { output, filled in
            input.withUnsafeBufferPointer { input in
                // zlib reads what it is given, and does not write it.
                stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress.map { $0 + place })
                stream.pointee.avail_in = UInt32(offered)
                stream.pointee.next_out = output.baseAddress
                stream.pointee.avail_out = UInt32(room)
                status = CZlib.inflate(stream, Z_NO_FLUSH)
                left = stream.pointee.avail_in
                filled = room - Int(stream.pointee.avail_out)
            }
        }
        place += offered - Int(left)
        taken += Int64(offered - Int(left))
        switch status {
        // Without room or input for more it says Z_BUF_ERROR, which is no error.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: isInMember = false
        case Z_MEM_ERROR: throw GzipReader.exhausted
        default:
            let reason = stream.pointee.msg.map { String(cString: $0) } ?? "zlib says \(status)"
            throw Flaw(description: "its gzip data are damaged near byte \(taken): \(reason)")
        }
        return bytes
    }
}
