import Base
import StoreSimulator

/// What apps post to the REST API, as whole requests.
enum ReceiptRequests {
    static func receipt(_ transaction: String, for appUserID: String, key: String) -> [UInt8] {
        let body = JSON.object(["app_user_id": .string(appUserID), "fetch_token": .string(transaction)])
        return RequestBytes.post("/v1/receipts", body.bytes, headers: headers(key))
    }

    static func lookUp(_ transactionID: String, key: String) -> [UInt8] {
        let body = JSON.object(["original_transaction_id": .string(transactionID)])
        return RequestBytes.post("/apple/transactions", body.bytes, headers: headers(key))
    }

    private static func headers(_ key: String) -> [(name: String, value: String)] {
        [("Authorization", "Bearer \(key)"), ("X-Platform", "iOS"), ("X-Client-Bundle-ID", "com.example.app")]
    }
}
