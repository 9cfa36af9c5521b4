import Base

/// What counts of the header of a JWS: `alg`, and `x5c` (RFC 7515 §4.1.6). Other members are ignored, as Apple's
/// libraries do; all of them are signed.
struct SigningHeader: WirePayload {
    /// Bytes of base64url. Apple's headers have 4,400.
    static let maximumSize = 64 * 1024

    let algorithm: String?
    /// Nil if there is none; not nil, but with a wrong type inside, is no header at all.
    let certificates: [String]?

    init(_ members: Members) throws {
        algorithm = members.text("alg")
        certificates = try members.container.decodeIfPresent([String].self, forKey: "x5c")
    }

    /// The header in a segment of base64url.
    static func read(_ segment: ArraySlice<UInt8>) throws(VerificationFailure) -> SigningHeader {
        guard segment.count <= maximumSize else {
            throw VerificationFailure(.malformedJWS, "the header has more than \(maximumSize) bytes")
        }
        guard let bytes = Base64.decodeURL(segment) else {
            throw VerificationFailure(.malformedJWS, "the header is no base64url")
        }
        guard let header = SigningHeader(payload: bytes) else {
            throw VerificationFailure(.malformedJWS, "the header is no JSON object with a list of certificates")
        }
        return header
    }
}
