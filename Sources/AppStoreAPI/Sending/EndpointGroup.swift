import Base

/// Endpoints that share a rate
/// (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
package enum EndpointGroup: String, Sendable, CaseIterable {
    case transactionInfo = "transaction_info"
    case transactionHistory = "transaction_history"
    case subscriptionStatuses = "subscription_statuses"
    case appTransactionInfo = "app_transaction_info"
    case notificationHistory = "notification_history"
    case testNotification = "test_notification"
    case testNotificationStatus = "test_notification_status"
    case refundHistory = "refund_history"
    case orderLookup = "order_lookup"
    case renewalExtension = "extension"
    case massExtension = "mass_extension"
    case massExtensionStatus = "mass_extension_status"
    case consumption
    case appAccountToken = "app_account_token"
    case finish

    /// What Apple allows in production, in a second.
    var published: Double {
        switch self {
        case .transactionInfo, .transactionHistory, .subscriptionStatuses, .appTransactionInfo, .notificationHistory,
            .consumption, .finish:
            50
        case .renewalExtension, .appAccountToken: 20
        case .refundHistory, .orderLookup: 10
        // The last one is not in Apple's table.
        case .testNotification, .testNotificationStatus, .massExtension, .massExtensionStatus: 1
        }
    }

    /// What a process uses of it: less, because other processes and tools have the same limit. The sandbox allows a tenth.
    package func rate(in environment: StoreEnvironment, _ share: RateShare = .process) -> Double {
        published * share.part * (environment == .production ? 1 : 0.1)
    }
}
