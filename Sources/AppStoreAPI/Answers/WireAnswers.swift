import AppStore

// The answers as they come. What an answer cannot do without must be there; all else is tolerated.

/// https://developer.apple.com/documentation/appstoreserverapi/transactioninforesponse
struct TransactionInfoAnswer: WirePayload {
    let signedTransactionInfo: String

    init(_ members: Members) throws { signedTransactionInfo = try members.required("signedTransactionInfo") }
}

/// https://developer.apple.com/documentation/appstoreserverapi/apptransactioninforesponse
struct AppTransactionAnswer: WirePayload {
    let signedAppTransactionInfo: String

    init(_ members: Members) throws { signedAppTransactionInfo = try members.required("signedAppTransactionInfo") }
}

/// https://developer.apple.com/documentation/appstoreserverapi/historyresponse and
/// https://developer.apple.com/documentation/appstoreserverapi/refundhistoryresponse
struct TransactionPageAnswer: WirePayload {
    let signedTransactions: [String]
    let revision: String?
    let hasMore: Bool

    init(_ members: Members) throws {
        signedTransactions = try members.texts("signedTransactions").required()
        revision = members.text("revision")
        hasMore = members.flag("hasMore") ?? false
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/orderlookupresponse
struct OrderAnswer: WirePayload {
    let isValid: Bool
    let signedTransactions: [String]

    init(_ members: Members) throws {
        isValid = try members.integer("status").required() == 0
        signedTransactions = members.texts("signedTransactions") ?? []
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/statusresponse
struct StatusAnswer: WirePayload {
    struct Group: WirePayload {
        let id: String?
        let last: [Last]

        init(_ members: Members) throws {
            id = members.text("subscriptionGroupIdentifier")
            last = try members.objects("lastTransactions").required()
        }
    }

    struct Last: WirePayload {
        let status: Int64
        let originalTransactionID: String
        let signedTransactionInfo: String
        let signedRenewalInfo: String?

        init(_ members: Members) throws {
            status = try members.integer("status").required()
            originalTransactionID = try members.required("originalTransactionId")
            signedTransactionInfo = try members.required("signedTransactionInfo")
            signedRenewalInfo = members.text("signedRenewalInfo")
        }
    }

    let groups: [Group]

    init(_ members: Members) throws { groups = try members.objects("data").required() }
}

/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponse
struct NotificationPageAnswer: WirePayload {
    let items: [NotificationAnswer]
    let paginationToken: String?
    let hasMore: Bool

    init(_ members: Members) throws {
        items = try members.objects("notificationHistory").required()
        paginationToken = members.text("paginationToken")
        hasMore = members.flag("hasMore") ?? false
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/notificationhistoryresponseitem and
/// https://developer.apple.com/documentation/appstoreserverapi/checktestnotificationresponse
struct NotificationAnswer: WirePayload {
    let signedPayload: String
    let attempts: [SendAttempt]

    init(_ members: Members) throws {
        signedPayload = try members.required("signedPayload")
        attempts = members.objects("sendAttempts") ?? []
    }
}

/// https://developer.apple.com/documentation/appstoreserverapi/sendtestnotificationresponse
struct TestRequestAnswer: WirePayload {
    let testNotificationToken: String

    init(_ members: Members) throws { testNotificationToken = try members.required("testNotificationToken") }
}

extension Members {
    func required(_ name: MemberName) throws -> String { try text(name).required() }
}

extension Optional {
    fileprivate struct Missing: Error {}

    /// Throws for nil.
    func required() throws -> Wrapped {
        guard let self else { throw Missing() }
        return self
    }
}
