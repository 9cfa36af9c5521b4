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
            verifier: SignedDataVerifier(trust: chain.trust, clock: FixedClock(FuzzChain.date)))
    }

    private static func payloads(_ chain: FuzzChain) -> [[UInt8]] {
        [FuzzChain.transaction, FuzzChain.renewal, FuzzChain.appTransaction, chain.notification()]
            + FuzzChain.plainNotifications
    }

    private static func genuine(_ chain: FuzzChain) -> [[UInt8]] { payloads(chain).map { chain.sign($0) } }

    private static func known(_ chain: FuzzChain) -> Set<[[UInt8]]> { Set(payloads(chain).map(FuzzChain.unsigned)) }

    private static func isForged(_ data: InspectedData?, _ known: Set<[[UInt8]]>) -> Bool {
        data.map { !known.contains(FuzzChain.unsigned($0.outer.payload)) } ?? false
    }

    /// The reader of Apple's spelling and the reader of every other one must not differ.
    private static func body(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let signed = genuine(chain)
        let known = known(chain)
        let bodies = signed.suffix(3).map { Array(#"{"signedPayload":""#.utf8) + $0 + Array(#""}"#.utf8) }
        let texts = [
            #"{"signedPayload":"a.b.c"}"#, #" { "x" : [1, {}] , "signedPayload" : "a.b\u002ec" } "#,
            #"{"signedPayload":null}"#,
        ]
        return FuzzSubject("body", seeds: bodies + texts.map { Array($0.utf8) }, inputs: 16_000) { input in
            _ = RequestBody.jws(inFile: input)
            guard let found = RequestBody.signedPayload(in: input) else { return nil }
            // Members that nobody asks for are not looked into: a body may be read that is no JSON as a whole.
            if let whole = try? JSON(parsing: input),
                whole["signedPayload"]?.stringValue.map({ Array($0.utf8) }) != found
            {
                return "two readers of one body differ"
            }
            return isForged(try? inspector.inspect(found).get(), known) ? "accepted what nobody signed" : nil
        }
    }

    private static func jws(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let signed = genuine(chain)
        let known = known(chain)
        return FuzzSubject("jws", seeds: signed, inputs: 20_000) { input in
            return isForged(try? inspector.inspect(input).get(), known) ? "accepted what nobody signed" : nil
        }
    }

    /// Signed anew each time, so that what is wrong with a header cannot hide behind the signature.
    private static func header(_ chain: FuzzChain) -> FuzzSubject {
        let fingerprints = chain.certificates.map { Hex.encode(Digest.sha256($0)) }
        let texts = chain.certificates.map { Base64.encode($0) }
        let more = JSON.object(["kid": .string("k"), "alg": .string("ES256"), "x5c": .strings(texts), "typ": .null])
        let trust = chain.trust
        let verifier = SignedDataVerifier(trust: trust, clock: FixedClock(FuzzChain.date))
        return FuzzSubject("header", seeds: [chain.header, more.bytes], inputs: 6_000) { input in
            let jws = chain.sign(FuzzChain.transaction, header: input)
            guard let found = try? verifier.verify(jws).get() else { return nil }
            guard found.certificates.map(\.sha256) == fingerprints else { return "accepted another chain" }
            // Members that nobody asks for are not looked into here either.
            guard let read = try? JSON(parsing: input) else { return nil }
            return read["alg"]?.stringValue == "ES256" && read["crit"] == nil ? nil : "accepted another header"
        }
    }

    private static func payload(_ chain: FuzzChain) -> FuzzSubject {
        let inspector = inspector(chain)
        let seeds = [FuzzChain.transaction, FuzzChain.renewal, FuzzChain.appTransaction, chain.notification()]
        let identity = Identity(bundleID: "com.example.app", environments: [.sandbox])
        return FuzzSubject("payload", seeds: seeds + FuzzChain.plainNotifications, inputs: 12_000) { input in
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
        return FuzzSubject("certificate", seeds: chain.certificates, inputs: 12_000) { input in
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
        return FuzzSubject("pem", seeds: seeds + [chain.certificates[2]], inputs: 6_000) { input in
            _ = PEMBlock.decode("CERTIFICATE", String(decoding: input, as: UTF8.self))
            return CertificateFile.certificates(in: input)?.isEmpty == true ? "a file of no certificates" : nil
        }
    }
}
