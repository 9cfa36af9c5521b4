/// Why a text is no URL that requests are sent to. Descriptions are for people and never contain the URL, whose path
/// and query may hold a secret.
package enum URLRejection: Error, Sendable, Equatable {
    case tooLong
    case forbiddenCharacter
    case noScheme
    case unsupportedScheme
    case noHost
    case malformedHost
    case credentials
    case zone
    case malformedPort
    case malformed
}

extension URLRejection: CustomStringConvertible {
    package var description: String {
        switch self {
        case .tooLong: "the URL is longer than \(OutgoingURL.maximumLength) bytes"
        case .forbiddenCharacter: "the URL has a space, a backslash or a control character"
        case .noScheme: "the URL has no scheme: it must begin with https://"
        case .unsupportedScheme: "the URL's scheme is not https (or http, into allowed private networks)"
        case .noHost: "the URL has no host"
        case .malformedHost: "the URL's host is neither a name nor an address"
        case .credentials:
            "the URL contains a user or password: give them as the endpoint's authorization header instead"
        case .zone: "the URL's IPv6 address has a zone, which means something on this host only"
        case .malformedPort: "the URL's port is not a number from 1 to 65535"
        case .malformed: "the URL is malformed"
        }
    }
}
