/// Signed data that was verified, with all that is signed inside it.
package struct InspectedData: Sendable {
    package let kind: SignedDataKind
    package let outer: VerifiedJWS
    /// Of the kind `notification` only.
    package let notification: NotificationPayload?
    package let nested: NestedData
}

/// What is signed inside a notification.
package struct NestedData: Sendable {
    /// One verified member, also decoded.
    package struct Part<Payload: Sendable>: Sendable {
        package let jws: VerifiedJWS
        package let payload: Payload
    }

    package internal(set) var transaction: Part<TransactionPayload>?
    package internal(set) var renewal: Part<RenewalInfoPayload>?
    package internal(set) var appTransaction: Part<AppTransactionPayload>?
}
