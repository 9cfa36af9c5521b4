/// The body of a notification (https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2):
/// `{"signedPayload":"…"}`.
package enum RequestBody {
    /// The JWS in the body; nil (`malformed_body`) if the body is no JSON object in UTF-8 with that member as a string.
    /// Whether the string is a JWS is for the verifier to say.
    package static func signedPayload(in body: [UInt8]) -> [UInt8]? {
        plain(body) ?? Envelope(payload: body)?.signedPayload
    }

    private static let start = Array(#"{"signedPayload":""#.utf8)
    private static let end = Array(#""}"#.utf8)

    /// The body as Apple writes it, without any white space and with a string that needs no unescaping; nil for any
    /// other spelling. Saves reading 19 KB as JSON.
    private static func plain(_ body: [UInt8]) -> [UInt8]? {
        guard body.count > start.count + end.count, body.starts(with: start), body.suffix(end.count) == end[...] else {
            return nil
        }
        let text = body[start.count..<body.count - end.count]
        return isPlain(text) ? Array(text) : nil
    }

    /// Whether there is nothing but ASCII without control characters, quotes and backslashes; eight bytes at a time.
    private static func isPlain(_ text: ArraySlice<UInt8>) -> Bool {
        text.withUnsafeBytes { bytes in
            let (ones, tops) = (UInt64(0x0101_0101_0101_0101), UInt64(0x8080_8080_8080_8080))
            let words = bytes.count / 8
            // In a byte's top bit: whether it, or a difference that must not be zero, fell below.
            var faults: UInt64 = 0
            for word in 0..<words {
                let eight = bytes.loadUnaligned(fromByteOffset: word * 8, as: UInt64.self)
                let quote = eight ^ (ones &* 0x22)
                let backslash = eight ^ (ones &* 0x5c)
                faults |= eight | (eight &- ones &* 0x20) | (quote &- ones) | (backslash &- ones)
            }
            return faults & tops == 0
                && bytes.dropFirst(words * 8).allSatisfy { $0 >= 0x20 && $0 < 0x80 && $0 != 0x22 && $0 != 0x5c }
        }
    }

    /// The JWS in a file: a body as above, or the JWS alone, with white space around it.
    package static func jws(inFile bytes: [UInt8]) -> [UInt8] {
        let end = bytes.lastIndex { !JSONText.isSpace($0) }.map { $0 + 1 } ?? 0
        let text = Array(bytes[..<end].drop(while: JSONText.isSpace))
        return signedPayload(in: text) ?? text
    }

    private struct Envelope: WirePayload {
        let signedPayload: [UInt8]

        init(_ members: Members) throws {
            signedPayload = Array(try members.container.decode(String.self, forKey: "signedPayload").utf8)
        }
    }
}
