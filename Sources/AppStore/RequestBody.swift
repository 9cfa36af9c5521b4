/// The body of a notification (https://developer.apple.com/documentation/appstoreservernotifications/responsebodyv2):
/// `{"signedPayload":"…"}`.
package enum RequestBody {
    /// The JWS in the body; nil (`malformed_body`) if the body is no JSON object in UTF-8 with that member as a string.
    /// Whether the string is a JWS is for the verifier to say.
    package static func signedPayload(in body: [UInt8]) -> [UInt8]? {
        Envelope(payload: body)?.signedPayload
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
