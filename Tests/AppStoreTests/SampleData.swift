import Base

/// Signed data of an app that is sold nowhere.
enum SampleData {
    /// Milliseconds.
    static let year: Int64 = 365 * 86_400_000
    /// An hour from now, so that certificates that a test makes are valid already.
    static var now: Int64 { SystemClock().now() + 3_600_000 }

    static func transaction(bundle: JSON? = "com.example.app", environment: JSON? = "Sandbox") -> JSON {
        .object([
            "transactionId": "2000", "originalTransactionId": "1000", "bundleId": bundle, "productId": "pro_monthly",
            "environment": environment, "signedDate": .int(now),
        ])
    }

    static func renewal(environment: JSON? = "Sandbox") -> JSON {
        .object([
            "originalTransactionId": "1000", "autoRenewStatus": 1, "environment": environment, "signedDate": .int(now),
        ])
    }

    static func notification(_ data: KeyValuePairs<String, JSON?>, member: String = "data") -> JSON {
        .object([
            .init(name: "notificationType", value: "DID_RENEW"),
            .init(name: "notificationUUID", value: "5f5c8b2e-0000-4000-8000-000000000001"),
            .init(name: member, value: .object(data)), .init(name: "signedDate", value: .int(now)),
        ])
    }

    static func text(_ jws: [UInt8]) -> JSON { .string(String(decoding: jws, as: UTF8.self)) }
}

extension Result {
    var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
    }

    var success: Success? { try? get() }
}
