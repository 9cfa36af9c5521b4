import Base

/// Verifies signed data with all that is signed inside it.
package struct SignedDataInspector: Sendable {
    private let verifier: SignedDataVerifier

    package init(verifier: SignedDataVerifier) {
        self.verifier = verifier
    }

    /// Verifies a JWS of a kind (nil: told by the payload), that it is for `identity`, and what is signed inside a
    /// notification. `date` (milliseconds since 1970) is when all their certificates must be valid; by default each
    /// counts at its own date of signing.
    package func inspect(
        _ jws: [UInt8], as kind: SignedDataKind? = nil, for identity: Identity = Identity(), at date: Int64? = nil
    ) -> Result<InspectedData, VerificationFailure> {
        do throws(VerificationFailure) {
            return .success(try inspected(jws, kind, identity, date))
        } catch {
            return .failure(error)
        }
    }

    /// Verifies what is signed inside a notification that was verified before: chain and signature of its own, and the
    /// app and environment of the notification.
    package func nestedData(
        of notification: NotificationPayload, at date: Int64? = nil
    ) -> Result<NestedData, VerificationFailure> {
        do throws(VerificationFailure) {
            return .success(try nested(in: notification, date))
        } catch {
            return .failure(error)
        }
    }

    private func inspected(
        _ jws: [UInt8], _ kind: SignedDataKind?, _ identity: Identity, _ date: Int64?
    ) throws(VerificationFailure) -> InspectedData {
        let outer = try verifier.verify(jws, at: date).get()
        guard let kind = kind ?? SignedDataKind.detect(outer.payload) else {
            throw VerificationFailure(
                .malformedPayload,
                SignedDataKind.isRealtimeRequest(outer.payload)
                    ? "the payload is a request of Retention Messaging, which entitled does not answer; its signature is good"
                    : "the kind of the payload is not recognised; name it with --kind")
        }
        switch kind {
        case .notification:
            let notification: NotificationPayload = try read(outer, "a notification")
            try require(identity.mismatch(with: notification.subject))
            return InspectedData(
                kind: kind, outer: outer, notification: notification, nested: try nested(in: notification, date))
        case .transaction:
            let transaction: TransactionPayload = try read(outer, "a transaction")
            try require(identity.mismatch(with: transaction))
        case .renewal:
            let renewal: RenewalInfoPayload = try read(outer, "a renewal info")
            try require(identity.mismatch(with: renewal))
        case .appTransaction:
            let appTransaction: AppTransactionPayload = try read(outer, "an app transaction")
            try require(identity.mismatch(with: appTransaction))
        }
        return InspectedData(kind: kind, outer: outer, notification: nil, nested: NestedData())
    }

    private func nested(
        in notification: NotificationPayload, _ date: Int64?
    ) throws(VerificationFailure) -> NestedData {
        let subject = notification.subject
        // An environment that no server has to do with matches nothing.
        let environments = Set([subject?.environment.flatMap(StoreEnvironment.init)].compactMap(\.self))
        let identity = Identity(
            bundleID: subject?.bundleId ?? "", appleAppID: subject?.appAppleId, environments: environments)
        var nested = NestedData()
        nested.transaction = try verify(
            notification.data?.signedTransactionInfo, "signedTransactionInfo", date, identity.mismatch)
        nested.renewal = try verify(notification.data?.signedRenewalInfo, "signedRenewalInfo", date, identity.mismatch)
        nested.appTransaction = try verify(
            notification.appData?.signedAppTransactionInfo, "signedAppTransactionInfo", date, identity.mismatch)
        return nested
    }

    private func verify<Payload: WirePayload>(
        _ jws: String?, _ member: String, _ date: Int64?, _ mismatch: (Payload) -> VerificationFailure?
    ) throws(VerificationFailure) -> NestedData.Part<Payload>? {
        guard let jws else { return nil }
        do throws(VerificationFailure) {
            let verified = try verifier.verify(Array(jws.utf8), at: date).get()
            let payload: Payload = try read(verified, "an object")
            try require(mismatch(payload))
            return NestedData.Part(jws: verified, payload: payload)
        } catch {
            throw error.inside(member)
        }
    }

    private func read<Payload: WirePayload>(
        _ jws: VerifiedJWS, _ name: String
    ) throws(VerificationFailure) -> Payload {
        guard let payload = Payload(payload: jws.payload) else {
            throw VerificationFailure(.malformedPayload, "the payload is not \(name)")
        }
        return payload
    }

    private func require(_ mismatch: VerificationFailure?) throws(VerificationFailure) {
        if let mismatch {
            throw mismatch
        }
    }
}
