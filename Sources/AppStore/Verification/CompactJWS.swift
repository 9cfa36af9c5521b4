import Base
import Glibc

/// The three parts of a JWS in compact form (RFC 7515 §7.1).
struct CompactJWS {
    /// base64url, as sent.
    let header: ArraySlice<UInt8>
    let payload: [UInt8]
    let signature: [UInt8]
    /// Header and payload as sent, with the dot between them: what the signature covers.
    let signed: ArraySlice<UInt8>

    init(_ text: [UInt8]) throws(VerificationFailure) {
        guard let first = CompactJWS.dot(in: text, from: 0), let second = CompactJWS.dot(in: text, from: first + 1),
            CompactJWS.dot(in: text, from: second + 1) == nil
        else { throw VerificationFailure(.malformedJWS, "not three parts with dots between them") }
        guard let payload = Base64.decodeURL(text[(first + 1)..<second]) else {
            throw VerificationFailure(.malformedJWS, "the payload is not base64url")
        }
        guard let signature = Base64.decodeURL(text[(second + 1)...]) else {
            throw VerificationFailure(.malformedJWS, "the signature is not base64url")
        }
        header = text[..<first]
        signed = text[..<second]
        self.payload = payload
        self.signature = signature
    }

    /// `from` is at most `text.count`.
    private static func dot(in text: [UInt8], from start: Int) -> Int? {
        text.withUnsafeBytes { bytes in
            guard start < bytes.count, let base = bytes.baseAddress,
                let found = memchr(base + start, CInt(UInt8(ascii: ".")), bytes.count - start)
            else { return nil }
            return UnsafeRawPointer(found) - base
        }
    }
}
