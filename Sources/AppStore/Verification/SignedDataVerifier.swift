import Base
import Crypto

/// Verifies what Apple signs: App Store Server Notifications, transactions, renewal infos, app transactions
/// (https://developer.apple.com/documentation/appstoreservernotifications/jwstransaction).
///
/// Any number of threads may use one at once; none waits for another's cryptography.
///
/// Where Apple's four libraries differ, the choice here:
/// - Form, algorithm, chain and signature come before the payload's model, as in Python: what is unsigned is not
///   worth a look, and a payload of a shape not known yet is no forgery. The others decode the model first.
/// - `exp` and `nbf` of the payload mean nothing, as in Swift: Apple does not send them. The JWT libraries behind the
///   other three obey them.
/// - Data of Xcode and of local tests is never accepted, under no configuration: theirs skip all checks for it.
/// - A reason of its own for each step, in one order, where theirs share four to six.
package final class SignedDataVerifier: Sendable {
    private let policy: ChainPolicy
    private let cache: ChainCache
    private let clock: any WallClock
    private let revocation: RevocationPolicy?

    /// - Parameter revocation: what decides about certificates that may be revoked; nil: nothing does.
    package init(
        trust: TrustAnchors, clock: any WallClock = SystemClock(), revocation: RevocationPolicy? = nil
    ) {
        self.revocation = revocation
        cache = ChainCache()
        policy = ChainPolicy(trust: trust, cache: cache)
        self.clock = clock
    }

    /// Checks a JWS in compact form: its form, its chain of certificates, its signature, and that the payload is an
    /// object. The chain must be valid at `date` (milliseconds since 1970), by default at the date of signing, or now
    /// where the payload has none: what was signed by a certificate that has expired since stays genuine.
    package func verify(_ jws: [UInt8], at date: Int64? = nil) -> Result<VerifiedJWS, VerificationFailure> {
        do throws(VerificationFailure) {
            return .success(try verified(jws, at: date))
        } catch {
            return .failure(error)
        }
    }

    private func verified(_ text: [UInt8], at date: Int64?) throws(VerificationFailure) -> VerifiedJWS {
        let jws = try CompactJWS(text)
        let known = cache.chain(forHeader: jws.header)
        let header = known == nil ? try SigningHeader.read(jws.header) : nil
        // Read before it is trusted, as Apple's libraries do: the date only decides at which instant the chain has to
        // be valid. A payload that cannot be read is refused after the signature.
        let dates = SigningDates(payload: jws.payload)
        let instant = date ?? dates?.signed ?? clock.now()
        let chain: VerifiedChain
        if let header {
            chain = try policy.chain(of: header, at: instant)
        } else if let known {
            try known.requireValidity(at: instant)
            chain = known
        } else {
            throw VerificationFailure(.malformedJWS, "no header")
        }
        guard chain.key.verifies(jws.signature, of: jws.signed) else {
            throw VerificationFailure(.badSignature, "not signed with the key of the first certificate")
        }
        if known == nil {
            cache.insert(chain, forHeader: jws.header)
        }
        // Behind the signature: only of genuine chains is anything asked, or told.
        if let refusal = revocation?.refusal(of: chain.path, signedAt: dates?.signed) { throw refusal }
        guard let dates else { throw VerificationFailure(.malformedPayload, "the payload is not a JSON object") }
        return VerifiedJWS(
            header: Array(jws.header), payload: jws.payload, signature: jws.signature, certificates: chain.summaries,
            signedDate: dates.signed)
    }

    /// Chains that are known to be genuine, for tests.
    var knownChains: Int { cache.count }
}

/// The date of signing, whatever the kind of the payload.
private struct SigningDates: WirePayload {
    let signed: Int64?

    init(_ members: Members) {
        signed = members.integer("signedDate") ?? members.integer("receiptCreationDate")
    }
}
