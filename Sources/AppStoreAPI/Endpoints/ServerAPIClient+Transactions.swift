import AppStore
import Base

extension ServerAPIClient {
    /// One transaction of any kind (Get Transaction Info,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-info).
    package func transaction(
        _ id: String, in choice: EnvironmentChoice, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> Found<SignedItem<TransactionPayload>> {
        try lookUp(choice) { environment throws(ServerAPIError) in
            let call = try ServerAPICall(.transactionInfo, ["v1", "transactions", id])
            let reader = AnswerReader(self, environment)
            let answer: TransactionInfoAnswer = try reader.read(try send(call, in: environment, options))
            let item = try reader.transaction(answer.signedTransactionInfo, "signedTransactionInfo")
            guard item.payload.transactionId == id else { throw .malformed("it is about another transaction") }
            return item
        }
    }

    /// The purchase of the app itself by the customer (Get App Transaction Info,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-app-transaction-info).
    ///
    /// - Parameter id: any transaction id, original transaction id or app transaction id of the customer.
    package func appTransaction(
        of id: String, in choice: EnvironmentChoice, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> Found<SignedItem<AppTransactionPayload>> {
        try lookUp(choice) { environment throws(ServerAPIError) in
            let call = try ServerAPICall(.appTransactionInfo, ["v1", "transactions", "appTransactions", id])
            let reader = AnswerReader(self, environment)
            let answer: AppTransactionAnswer = try reader.read(try send(call, in: environment, options))
            return try reader.appTransaction(answer.signedAppTransactionInfo, "signedAppTransactionInfo")
        }
    }

    /// One page of a customer's purchases (Get Transaction History v2,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-transaction-history).
    ///
    /// - Parameter revision: of the page before, or one that was kept: then only what changed since comes.
    package func transactionPage(
        of id: String, _ filter: TransactionFilter = TransactionFilter(), after revision: String? = nil,
        in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> TransactionPage {
        var call = try ServerAPICall(.transactionHistory, ["v2", "history", id])
        call.query = filter.query
        return try transactionPage(call, after: revision, environment, options)
    }

    /// One page of a customer's refunds, the oldest first (Get Refund History,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-refund-history).
    package func refundPage(
        of id: String, after revision: String? = nil, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> TransactionPage {
        try transactionPage(
            try ServerAPICall(.refundHistory, ["v2", "refund", "lookup", id]), after: revision, environment, options)
    }

    private func transactionPage(
        _ call: ServerAPICall, after revision: String?, _ environment: StoreEnvironment, _ options: CallOptions
    ) throws(ServerAPIError) -> TransactionPage {
        var call = call
        call.answerLimit = ServerAPICall.pageLimit
        if let revision { call.query.append(("revision", revision)) }
        let reader = AnswerReader(self, environment)
        let answer: TransactionPageAnswer = try reader.read(try send(call, in: environment, options))
        return TransactionPage(
            transactions: try reader.transactions(answer.signedTransactions), revision: answer.revision,
            hasMore: answer.hasMore)
    }

    /// All of a customer's purchases that the filter lets through.
    package func transactions(
        of id: String, _ filter: TransactionFilter = TransactionFilter(), in choice: EnvironmentChoice,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> Found<[SignedItem<TransactionPayload>]> {
        try lookUp(choice) { environment throws(ServerAPIError) in
            var pages = transactionPages(of: id, filter, in: environment, options)
            return try pages.all()
        }
    }

    /// All of a customer's refunds, the oldest first.
    package func refunds(
        of id: String, in choice: EnvironmentChoice, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> Found<[SignedItem<TransactionPayload>]> {
        try lookUp(choice) { environment throws(ServerAPIError) in
            var pages = refundPages(of: id, in: environment, options)
            return try pages.all()
        }
    }

    /// The purchases of an order that a customer got a receipt of (Look Up Order ID,
    /// https://developer.apple.com/documentation/appstoreserverapi/look-up-order-id). Nil: Apple knows no such order of
    /// this app.
    package func order(
        _ id: String, in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> [SignedItem<TransactionPayload>]? {
        var call = try ServerAPICall(.orderLookup, ["v1", "lookup", id])
        call.answerLimit = ServerAPICall.pageLimit
        let reader = AnswerReader(self, environment)
        let answer: OrderAnswer = try reader.read(try send(call, in: environment, options))
        return answer.isValid ? try reader.transactions(answer.signedTransactions) : nil
    }

    /// Ties a purchase, with its renewals, to a user of the app's (Set App Account Token,
    /// https://developer.apple.com/documentation/appstoreserverapi/set-app-account-token).
    ///
    /// - Parameter token: a UUID.
    package func setAppAccountToken(
        _ token: String, of originalTransactionID: String, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) {
        var call = try ServerAPICall(
            .appAccountToken, ["v1", "transactions", originalTransactionID, "appAccountToken"])
        call.method = "PUT"
        call.body = .object(["appAccountToken": .string(token)])
        _ = try send(call, in: environment, options)
    }

    /// Tells Apple that what was bought was delivered, in place of the app (Finish Transaction,
    /// https://developer.apple.com/documentation/appstoreserverapi/finish-transaction).
    package func finish(
        _ transactionID: String, in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) {
        var call = try ServerAPICall(.finish, ["v1", "transactions", transactionID, "finish"])
        call.method = "POST"
        _ = try send(call, in: environment, options)
    }

    /// What the app knows about the use of a purchase, for Apple's decision on a refund, within 12 hours of
    /// CONSUMPTION_REQUEST (Send Consumption Information,
    /// https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information).
    package func sendConsumption(
        _ information: ConsumptionInformation, of transactionID: String, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) {
        if let flaw = information.flaw { throw .invalid(flaw) }
        var call = try ServerAPICall(.consumption, ["v2", "transactions", "consumption", transactionID])
        call.method = "PUT"
        call.body = information.json
        _ = try send(call, in: environment, options)
    }
}
