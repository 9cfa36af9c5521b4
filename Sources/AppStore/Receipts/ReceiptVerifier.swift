import Base
import Crypto

/// Verifies app receipts, which Apple signed before there were signed transactions: PKCS#7, with a chain to Apple Root CA.
///
/// Without it a transaction id could be any customer's. The receipt itself says too little for a record: with the ids in it
/// Apple is asked.
package struct ReceiptVerifier: Sendable {
    private let trust: TrustAnchors

    package enum Failure: Error, Sendable, Equatable {
        /// No PKCS#7 with a receipt in it.
        case malformed
        /// Xcode signed it, for tests on a developer's machine.
        case xcode
        case untrusted(String)
    }

    /// - Parameter trust: the roots of receipts; not those of other signed data, which has a root of its own.
    package init(trust: TrustAnchors) {
        self.trust = trust
    }

    /// A receipt as it lies in the app, in DER. The chain must be valid when the receipt was made.
    package func verify(_ bytes: [UInt8]) -> Result<ReceiptPayload, Failure> {
        guard let message = SignedMessage(bytes), let payload = ReceiptPayload(message.content) else {
            return .failure(.malformed)
        }
        guard payload.type != "Xcode" else { return .failure(.xcode) }
        // Whose key it is comes first: a stranger's costs nothing then.
        guard let anchor = message.certificates.lazy.compactMap(trust.anchor).first else {
            return .failure(.untrusted("no trusted root came with it"))
        }
        guard message.signer.extensions.contains(ChainPolicy.leafMarker) else {
            return .failure(.untrusted("the signer is not marked for signing receipts"))
        }
        let issuers = message.certificates.filter {
            $0.extensions.contains(ChainPolicy.intermediateMarker) && $0.der != message.signer.der
        }
        let isChain = issuers.contains { issuer in
            CertificatePath(leaf: message.signer, intermediate: issuer, anchor: anchor).isValid(at: payload.created)
        }
        guard isChain else { return .failure(.untrusted("the certificates are no valid path to the root")) }
        guard message.isSigned else { return .failure(.untrusted("it is not signed with the signer's key")) }
        return .success(payload)
    }
}
