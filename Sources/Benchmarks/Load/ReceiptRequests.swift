import Base
import StoreSimulator

/// What apps post to the REST API through a proxy on this host, which tells their address; as whole requests.
enum ReceiptRequests {
    static func receipt(
        _ transaction: String, for appUserID: String, key: String, from address: String
    ) -> [UInt8] {
        let body = JSON.object(["app_user_id": .string(appUserID), "fetch_token": .string(transaction)])
        return RequestBytes.post("/v1/receipts", body.bytes, headers: headers(key, address))
    }

    static func lookUp(_ transactionID: String, key: String, from address: String) -> [UInt8] {
        let body = JSON.object(["original_transaction_id": .string(transactionID)])
        return RequestBytes.post("/apple/transactions", body.bytes, headers: headers(key, address))
    }

    private static func headers(_ key: String, _ address: String) -> [(name: String, value: String)] {
        [
            ("Authorization", "Bearer \(key)"), ("X-Platform", "iOS"), ("X-Client-Bundle-ID", "com.example.app"),
            ("X-Forwarded-For", address),
        ]
    }
}
