/// The operator who asks for a change, and from where.
package struct ChangeOrigin: Sendable, Equatable {
    /// The name of the operator.
    package let user: String
    package let credential: Credential
    /// Of the client.
    package let address: String
    /// Of the client, cut off; nil: it named none.
    package let userAgent: String?

    /// What the operator was recognised by, with its id.
    package enum Credential: Sendable, Equatable {
        case key(String)
        case session(String)
        /// A command on the host. Without a text: the console's role can write no change that has none.
        case host

        package var text: String? {
            switch self {
            case .key(let id): "key \(id)"
            case .session(let id): "session \(id)"
            case .host: nil
            }
        }

        /// Nil for what is none.
        package init?(text: String?) {
            guard let text else {
                self = .host
                return
            }
            let parts = text.split(separator: " ", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "key": self = .key(parts[1])
            case "session": self = .session(parts[1])
            default: return nil
            }
        }
    }

    private static let longestAgent = 255

    package init(user: String, credential: Credential, address: String, userAgent: String?) {
        self.user = user
        self.credential = credential
        self.address = address
        self.userAgent = userAgent.map { String($0.unicodeScalars.prefix(ChangeOrigin.longestAgent)) }
    }
}
