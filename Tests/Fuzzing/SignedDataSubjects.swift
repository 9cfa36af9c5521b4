import AppStore
import Base
import Crypto

/// Bodies, JWS, headers, payloads and certificates: all that comes in at the store's endpoint.
package enum SignedDataSubjects {
    package static func all() throws -> [FuzzSubject] {
        let chain = try FuzzChain()
        return [body(chain), jws(chain), header(chain), payload(chain), certificate(chain), pem(chain)]
    }

    private static func inspector(_ chain: FuzzChain) -> SignedDataInspector {
        SignedDataInspector(
            verifier: SignedDataVerifier(trust: chain.trust, clock: ManualClock(FuzzChain.date)))
    }

    private static func genuine(_ chain: FuzzChain) -> [[UInt8]] {
        let payloads = [FuzzChain.transaction, FuzzChain.renewal, FuzzChain.appTransaction, chain.notification()]
        return (payloads + FuzzChain.plainNotifications).map { chain.sign($0) }
    }

    /// The reader of Apple's spelling and the reader of every other one must not differ.
    private static func body(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let signed = genuine(chain)
        let known = Set(signed)
        let bodies = signed.suffix(3).map { Array(#"{"signedPayload":""#.utf8) + $0 + Array(#""}"#.utf8) }
        let texts = [
            #"{"signedPayload":"a.b.c"}"#, #" { "x" : [1, {}] , "signedPayload" : "a.b\u002ec" } "#,
            #"{"signedPayload":null}"#,
        ]
        return FuzzSubject("body", seeds: bodies + texts.map { Array($0.utf8) }, inputs: 8000) { input in
            _ = RequestBody.jws(inFile: input)
            guard let found = RequestBody.signedPayload(in: input) else { return nil }
            guard (try? JSON(parsing: input))?["signedPayload"]?.stringValue.map({ Array($0.utf8) }) == found else {
                return "two readers of one body differ"
            }
            let isAccepted = (try? inspector.inspect(found).get()) != nil
            return isAccepted && !known.contains(found) ? "accepted what nobody signed" : nil
        }
    }

    private static func jws(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let signed = genuine(chain)
        let known = Set(signed)
        return FuzzSubject("jws", seeds: signed, inputs: 10_000) { input in
            let isAccepted = (try? inspector.inspect(input).get()) != nil
            return isAccepted && !known.contains(input) ? "accepted what nobody signed" : nil
        }
    }

    /// Signed anew each time, so that what is wrong with a header cannot hide behind the signature.
    private static func header(_ chain: FuzzChain) -> FuzzSubject {
        let fingerprints = chain.certificates.map { Hex.encode(Digest.sha256($0)) }
        let texts = chain.certificates.map { Base64.encode($0) }
        let more = JSON.object(["kid": .string("k"), "alg": .string("ES256"), "x5c": .strings(texts), "typ": .null])
        let trust = chain.trust
        let verifier = SignedDataVerifier(trust: trust, clock: ManualClock(FuzzChain.date))
        return FuzzSubject("header", seeds: [chain.header, more.bytes], inputs: 3000) { input in
            let jws = chain.sign(FuzzChain.transaction, header: input)
            guard let found = try? verifier.verify(jws).get() else { return nil }
            guard found.certificates.map(\.sha256) == fingerprints else { return "accepted another chain" }
            let read = try? JSON(parsing: input)
            return read?["alg"]?.stringValue == "ES256" && read?["crit"] == nil ? nil : "accepted another header"
        }
    }

    private static func payload(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let seeds = [FuzzChain.transaction, FuzzChain.renewal, FuzzChain.appTransaction, chain.notification()]
        let identity = Identity(bundleID: "com.example.app", environments: [.sandbox])
        return FuzzSubject("payload", seeds: seeds + FuzzChain.plainNotifications, inputs: 6000) { input in
            _ = TransactionPayload(payload: input)
            _ = RenewalInfoPayload(payload: input)
            _ = AppTransactionPayload(payload: input)
            let notification = NotificationPayload(payload: input)
            guard let found = try? inspector.inspect(chain.sign(input), for: identity).get() else { return nil }
            guard found.kind == .notification else { return nil }
            let isRight =
                notification?.subject?.bundleId == "com.example.app"
                && notification?.subject?.environment == "Sandbox"
            return isRight ? nil : "accepted another app"
        }
    }

    /// A certificate that was changed in any way is in no valid path.
    private static func certificate(_ chain: FuzzChain) -> FuzzSubject {
        let parsed = chain.certificates.compactMap { Certificate(der: $0) }
        return FuzzSubject("certificate", seeds: chain.certificates, inputs: 6000) { input in
            guard let certificate = Certificate(der: input), parsed.count == 3 else { return nil }
            guard certificate.der == input else { return "read other bytes" }
            _ = CertificateSummary(certificate)
            _ = certificate.verificationKey?.verifies(Array(repeating: 7, count: 64), of: input[...])
            _ = parsed.map { certificate.hasSameNameAndKey(as: $0) || certificate.isValid(at: FuzzChain.date) }
            let asLeaf = CertificatePath(leaf: certificate, intermediate: parsed[1], anchor: parsed[2])
            let asAuthority = CertificatePath(leaf: parsed[0], intermediate: certificate, anchor: parsed[2])
            if asLeaf.isValid(at: FuzzChain.date), input != parsed[0].der { return "a forged leaf is valid" }
            if asAuthority.isValid(at: FuzzChain.date), input != parsed[1].der { return "a forged authority is valid" }
            return nil
        }
    }

    private static func pem(_ chain: FuzzChain) -> FuzzSubject {
        let texts = chain.certificates.map { PEMBlock.encode("CERTIFICATE", $0) }
        let seeds = [texts.joined(), "words\n" + texts[2], texts[0]].map { Array($0.utf8) }
        return FuzzSubject("pem", seeds: seeds + [chain.certificates[2]], inputs: 3000) { input in
            _ = PEMBlock.decode("CERTIFICATE", String(decoding: input, as: UTF8.self))
            return CertificateFile.certificates(in: input)?.isEmpty == true ? "a file of no certificates" : nil
        }
    }
}
