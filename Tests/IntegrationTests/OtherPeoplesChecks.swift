import Base
import Crypto
import FoundationEssentials
import TestSupport

/// What code that is not ours says about the signatures of a request.
enum OtherPeoplesChecks {
    private static let script = """
        import base64, json, sys
        import standardwebhooks, stripe, svix.webhooks

        def standard(case, body):
            standardwebhooks.Webhook(case["secret"]).verify(body, case["headers"], json_parse=False)

        def svix_too(case, body):
            svix.webhooks.Webhook(case["secret"]).verify(body, case["headers"])

        def revenuecat(case, body):
            # RevenueCat's scheme is Stripe's: the secret is text.
            header = case["headers"]["x-revenuecat-webhook-signature"]
            if not stripe.WebhookSignature.verify_header(body, header, case["secret"], tolerance=300):
                raise ValueError("not verified")

        def verdict(check, case):
            try:
                check(case, base64.b64decode(case["body"]).decode())
                return "good"
            except (standardwebhooks.WebhookVerificationError, svix.webhooks.WebhookVerificationError,
                    stripe.SignatureVerificationError):
                return "bad"

        cases = json.load(open(sys.argv[1]))
        print(json.dumps([[verdict(check, case) for check in (standard, revenuecat, svix_too)] for case in cases]))
        """

    /// Whether `standardwebhooks`, `stripe` and `svix` find it good, for each request with a secret (`whsec_…`).
    static func verdicts(_ cases: [(request: Consumer.Request, secret: String)]) throws -> [[Bool]] {
        let input = cases.map { request, secret in
            JSON.object([
                JSON.Member(name: "secret", value: .string(secret)),
                JSON.Member(name: "body", value: .string(Base64.encode(request.body))),
                JSON.Member(
                    name: "headers",
                    value: .object(request.headers.map { JSON.Member(name: $0.key, value: .string($0.value)) })),
            ])
        }
        guard let answer = try PythonChecks.run(script, .array(input)).arrayValue, answer.count == cases.count else {
            throw TestFailure("not a verdict for each request")
        }
        return answer.map { ($0.arrayValue ?? []).map { $0.stringValue == "good" } }
    }

    /// Which entries of the signature header the program openssl finds good with this public key (`whpk_…`).
    static func goodEntries(_ request: Consumer.Request, publicKey: String) throws -> [Int] {
        guard let key = Base64.decode(Array(publicKey.dropFirst(5).utf8)), key.count == 32 else {
            throw TestFailure("no public key: \(publicKey)")
        }
        let folder = try TemporaryFolder.make()
        defer { TemporaryFolder.remove(folder) }
        func write(_ bytes: [UInt8], _ name: String) throws {
            try Data(bytes).write(to: URL(filePath: "\(folder)/\(name)"))
        }
        // RFC 8410 §4: SubjectPublicKeyInfo of an ed25519 key.
        try write([0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00] + key, "key")
        try write(Array("\(request.id).\(request.headers["webhook-timestamp"] ?? "").".utf8) + request.body, "message")
        let entries = (request.headers["webhook-signature"] ?? "").split(
            separator: " ", omittingEmptySubsequences: false)
        return try entries.indices.filter { place in
            guard entries[place].hasPrefix("v1a,"), let bytes = Base64.decode(Array(entries[place].dropFirst(4).utf8))
            else { return false }
            try write(bytes, "signature")
            let answer = try? TestCommand.run([
                "openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", "\(folder)/key", "-rawin",
                "-in",
                "\(folder)/message", "-sigfile", "\(folder)/signature",
            ])
            return answer?.contains("Signature Verified Successfully") == true
        }
    }
}
