import AppStore

/// Something that Apple signed, verified: it is genuine, of the app that was asked about and of the environment.
package struct SignedItem<Payload: Sendable>: Sendable {
    /// The compact JWS as it came.
    package let text: String
    package let jws: VerifiedJWS
    package let payload: Payload
}
