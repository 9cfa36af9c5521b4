import Base
import Glibc

/// A notification's payload with what is signed inside it taken apart, so that little is left to keep: base64url of
/// JSON hides all repetition from compression, and the header inside is the one outside.
///
/// Format: a byte 1; how many JWS are inside; for each the lengths of the text before it, its payload and its signature;
/// then texts and payloads in turns, the text behind the last one, and the signatures. Numbers are LEB128. Only a JWS
/// under the outer header, in the one spelling that base64url has for its bytes, is taken apart: so every payload is
/// restored byte for byte.
enum PackedPayload {
    private static let format: UInt8 = 1
    private static let dot = UInt8(ascii: ".")

    private struct Part {
        /// Where the JWS is in the payload.
        let place: Range<Int>
        let payload: [UInt8]
        let signature: [UInt8]
    }

    // MARK: - Packing

    /// - Parameter header: the outer JWS' header, in base64url.
    static func pack(_ payload: [UInt8], header: [UInt8]) -> [UInt8] {
        let parts = parts(of: payload, header)
        var packed = [format]
        packed.reserveCapacity(payload.count)
        put(parts.count, &packed)
        var position = 0
        for part in parts {
            put(part.place.lowerBound - position, &packed)
            put(part.payload.count, &packed)
            put(part.signature.count, &packed)
            position = part.place.upperBound
        }
        position = 0
        for part in parts {
            packed += payload[position..<part.place.lowerBound]
            packed += part.payload
            position = part.place.upperBound
        }
        packed += payload[position...]
        for part in parts { packed += part.signature }
        return packed
    }

    private static func parts(of payload: [UInt8], _ header: [UInt8]) -> [Part] {
        guard !header.isEmpty else { return [] }
        var parts: [Part] = []
        var position = 0
        while let first = find(dot, in: payload, from: position) {
            position = first + 1
            let start = first - header.count
            guard start >= parts.last?.place.upperBound ?? 0, isEqual(payload, at: start, header),
                let second = find(dot, in: payload, from: first + 1),
                let end = find(UInt8(ascii: "\""), in: payload, from: second + 1),
                let inner = Base64.decodeURL(payload[(first + 1)..<second]),
                let signature = Base64.decodeURL(payload[(second + 1)..<end])
            else { continue }
            parts.append(Part(place: start..<end, payload: inner, signature: signature))
            position = end
        }
        return parts
    }

    private static func find(_ byte: UInt8, in bytes: [UInt8], from start: Int) -> Int? {
        bytes.withUnsafeBytes { buffer in
            guard start < buffer.count, let base = buffer.baseAddress,
                let found = memchr(base + start, Int32(byte), buffer.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }

    private static func isEqual(_ bytes: [UInt8], at start: Int, _ other: [UInt8]) -> Bool {
        guard start >= 0, bytes.count - start >= other.count else { return false }
        return bytes.withUnsafeBytes { bytes in
            other.withUnsafeBytes { other in
                guard let left = bytes.baseAddress, let right = other.baseAddress else { return false }
                return memcmp(left + start, right, other.count) == 0
            }
        }
    }

    // MARK: - Unpacking

    /// - Throws: for bytes that `pack` did not make, and for more than `limit` bytes.
    static func unpack(_ packed: [UInt8], header: [UInt8], limit: Int) throws(ZstdError) -> [UInt8] {
        var rest = packed[...]
        guard rest.popFirst() == format else { throw damaged }
        var lengths: [(text: Int, payload: Int, signature: Int)] = []
        for _ in 0..<(try number(&rest)) {
            lengths.append((try number(&rest), try number(&rest), try number(&rest)))
        }
        let signed = lengths.reduce(0) { $0 + $1.signature }
        guard signed <= rest.count else { throw damaged }
        var signatures = rest.suffix(signed)
        rest = rest.dropLast(signed)
        var payload: [UInt8] = []
        for length in lengths {
            payload += try take(length.text, &rest)
            payload += header
            payload.append(dot)
            payload += Base64.encodeURL(try take(length.payload, &rest)).utf8
            payload.append(dot)
            payload += Base64.encodeURL(try take(length.signature, &signatures)).utf8
            guard payload.count <= limit else { throw damaged }
        }
        guard payload.count + rest.count <= limit else { throw damaged }
        return payload + rest
    }

    private static var damaged: ZstdError { ZstdError(message: "the packed payload is damaged") }

    private static func take(_ count: Int, _ rest: inout ArraySlice<UInt8>) throws(ZstdError) -> ArraySlice<UInt8> {
        guard count <= rest.count else { throw damaged }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    // MARK: - Numbers

    private static func put(_ number: Int, _ bytes: inout [UInt8]) {
        var left = number
        while left >= 0x80 {
            bytes.append(UInt8(left & 0x7f) | 0x80)
            left >>= 7
        }
        bytes.append(UInt8(left))
    }

    /// At most four bytes, which is more than any length here needs.
    private static func number(_ rest: inout ArraySlice<UInt8>) throws(ZstdError) -> Int {
        var number = 0
        for shift in stride(from: 0, to: 28, by: 7) {
            guard let byte = rest.popFirst() else { throw damaged }
            number |= Int(byte & 0x7f) << shift
            if byte & 0x80 == 0 { return number }
        }
        throw damaged
    }
}
