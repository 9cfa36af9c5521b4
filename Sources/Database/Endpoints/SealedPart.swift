/// What is sealed of an endpoint.
package enum SealedPart: String, Sendable, CaseIterable {
    case secret
    /// The private half of an ed25519 key pair.
    case privateKey = "private_key"
    case authorization
    case headers

    /// For people.
    package var text: String { self == .privateKey ? "private key" : rawValue }
}
