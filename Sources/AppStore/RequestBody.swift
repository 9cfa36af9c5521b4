import Base

/// The body of a notification (https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2):
/// `{"signedPayload":"…"}`.
package enum RequestBody {
    private static let prefix = Array(#"{"signedPayload":""#.utf8)
    private static let suffix = Array(#""}"#.utf8)

    /// The JWS in the body; nil (`malformed_body`) if the body is no JSON object in UTF-8 with that member as a string.
    /// Whether the string is a JWS is for the verifier to say.
    package static func signedPayload(in body: [UInt8]) -> [UInt8]? {
        plain(body) ?? Envelope(payload: body)?.signedPayload
    }

    /// The JWS in a file: a body as above, or the JWS alone, with white space around it.
    package static func jws(inFile bytes: [UInt8]) -> [UInt8] {
        let end = bytes.lastIndex { !JSONText.isSpace($0) }.map { $0 + 1 } ?? 0
        let text = Array(bytes[..<end].drop(while: JSONText.isSpace))
        return signedPayload(in: text) ?? text
    }

    /// The way Apple writes it: no white space, no other member, nothing escaped.
    private static func plain(_ body: [UInt8]) -> [UInt8]? {
        guard body.count >= prefix.count + suffix.count, body.starts(with: prefix),
            body.suffix(suffix.count).elementsEqual(suffix)
        else { return nil }
        let text = body[prefix.count..<(body.count - suffix.count)]
        // Bit operations only, without an early end, so that the compiler makes it run over many bytes at once.
        let isPlain = text.withUnsafeBufferPointer { text in
            text.reduce(into: true) { isPlain, byte in
                let outside = byte &- 0x20 > 0x5e
                isPlain = isPlain && !(outside || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\"))
            }
        }
        return isPlain ? Array(text) : nil
    }

    private struct Envelope: WirePayload {
        let signedPayload: [UInt8]

        init(_ members: Members) throws {
            signedPayload = Array(try members.container.decode(String.self, forKey: "signedPayload").utf8)
        }
    }
}
