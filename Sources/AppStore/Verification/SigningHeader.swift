import Base

/// What counts of the header of a JWS: `alg`, and `x5c` (RFC 7515 §4.1.6). Members that are not known are ignored, as
/// Apple's libraries do; all of them are signed.
///
/// Stricter than those libraries in two points, and refused as `malformed_jws` in both:
/// - `crit` (RFC 7515 §4.1.11) names extensions without which the JWS must not be accepted. None is understood here, so
///   such a JWS is not one that this reader may call valid, whatever its algorithm. Apple's libraries do not look.
/// - A name that comes twice (RFC 7515 §4 forbids it): readers differ in which of the two they take. Swift's takes the
///   first, those of Python, Node and Java the last.
struct SigningHeader: WirePayload {
    /// Bytes of base64url. Apple's headers have 4,400.
    static let maximumSize = 64 * 1024

    let algorithm: String?
    /// Nil if there is none; not nil, but with a wrong type inside, is no header at all.
    let certificates: [String]?
    private let hasCriticalExtensions: Bool
    /// How many different names its members have.
    private let nameCount: Int

    init(_ members: Members) throws {
        let names = members.names
        nameCount = names.count
        hasCriticalExtensions = names.contains("crit")
        algorithm = members.text("alg")
        certificates = members.texts("x5c")
        if certificates == nil, members.isThere("x5c") { throw WrongType() }
    }

    private struct WrongType: Error {}

    /// The header in a segment of base64url.
    static func read(_ segment: ArraySlice<UInt8>) throws(VerificationFailure) -> SigningHeader {
        guard segment.count <= maximumSize else {
            throw VerificationFailure(.malformedJWS, "the header has more than \(maximumSize) bytes")
        }
        guard let bytes = Base64.decodeURL(segment) else {
            throw VerificationFailure(.malformedJWS, "the header is not base64url")
        }
        guard let header = SigningHeader(payload: bytes) else {
            throw VerificationFailure(.malformedJWS, "the header is not a JSON object with a list of certificates")
        }
        guard !header.hasCriticalExtensions else {
            throw VerificationFailure(
                .malformedJWS, "the header has critical extensions (crit), none of which is supported")
        }
        guard JSONText.memberCount(ofObject: bytes) == header.nameCount else {
            throw VerificationFailure(.malformedJWS, "the header has the same member twice")
        }
        return header
    }
}
