/// The body of a notification (https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2):
/// `{"signedPayload":"…"}`.
package enum RequestBody {
    /// The JWS in the body; nil (`malformed_body`) if the body is no JSON object in UTF-8 with that member as a string.
    /// Whether the string is a JWS is for the verifier to say.
    package static func signedPayload(in body: [UInt8]) -> [UInt8]? {
        plain(body) ?? NestedJWS(payload: body)?.signedPayload
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
        return text.withUnsafeBytes { PlainText.length(of: $0) == $0.count } ? Array(text) : nil
    }

    /// The JWS in a file: a body as above, or the JWS alone, with white space around it.
    package static func jws(inFile bytes: [UInt8]) -> [UInt8] {
        let end = bytes.lastIndex { !JSONText.isSpace($0) }.map { $0 + 1 } ?? 0
        let text = Array(bytes[..<end].drop(while: JSONText.isSpace))
        return signedPayload(in: text) ?? text
    }

    private struct NestedJWS: WirePayload {
        let signedPayload: [UInt8]

        init(_ members: Members) throws {
            guard let text = members.text("signedPayload") else { throw MissingMember() }
            signedPayload = Array(text.utf8)
        }
    }
}
