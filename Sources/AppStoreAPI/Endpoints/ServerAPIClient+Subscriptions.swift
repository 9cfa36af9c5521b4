import AppStore
import Base

extension ServerAPIClient {
    /// All subscriptions of a customer (Get All Subscription Statuses,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-all-subscription-statuses).
    ///
    /// - Parameters:
    ///   - id: any transaction id, original transaction id or app transaction id of the customer.
    ///   - statuses: only those; empty: all.
    package func subscriptions(
        of id: String, statuses: [SubscriptionStatus] = [], in choice: EnvironmentChoice,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> Found<[SubscriptionState]> {
        try lookUp(choice) { environment throws(ServerAPIError) in
            var call = try ServerAPICall(.subscriptionStatuses, ["v1", "subscriptions", id])
            call.query = statuses.map { ("status", "\($0.rawValue)") }
            call.answerLimit = ServerAPICall.pageLimit
            let reader = AnswerReader(self, environment)
            let answer: StatusAnswer = try reader.read(try send(call, in: environment, options))
            var states: [SubscriptionState] = []
            for (index, group) in answer.groups.enumerated() {
                for (place, last) in group.last.enumerated() {
                    let name = "data[\(index)].lastTransactions[\(place)]"
                    states.append(try SubscriptionState(last, group: group.id, name, reader))
                }
            }
            return states
        }
    }

    /// Gives a subscriber some days for nothing (Extend a Subscription Renewal Date,
    /// https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date). Cannot be taken
    /// back, and counts twice a year at most; so it is not sent again where it is unknown whether it was done.
    package func extendRenewal(
        of originalTransactionID: String, _ extension: RenewalExtension, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> RenewalExtensionResult {
        if let flaw = `extension`.flaw { throw .invalid(flaw) }
        var call = try ServerAPICall(.renewalExtension, ["v1", "subscriptions", "extend", originalTransactionID])
        call.method = "PUT"
        call.body = .object(`extension`.members)
        call.repetition = .ifUnsent
        return try AnswerReader(self, environment).read(try send(call, in: environment, options))
    }

    /// Gives all active subscribers of a product some days for nothing (Extend Subscription Renewal Dates for All Active
    /// Subscribers,
    /// https://developer.apple.com/documentation/appstoreserverapi/extend-subscription-renewal-dates-for-all-active-subscribers).
    /// Apple takes hours or days for it. The same request identifier again does nothing.
    ///
    /// - Parameter storefronts: three-letter country codes; empty: all.
    package func extendAllRenewals(
        of productID: String, _ extension: RenewalExtension, storefronts: [String] = [],
        in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) {
        if let flaw = `extension`.flaw { throw .invalid(flaw) }
        var call = try ServerAPICall(.massExtension, ["v1", "subscriptions", "extend", "mass"])
        call.method = "POST"
        var members = `extension`.members + [JSON.Member(name: "productId", value: .string(productID))]
        if !storefronts.isEmpty { members.append(.init(name: "storefrontCountryCodes", value: .strings(storefronts))) }
        call.body = .object(members)
        _ = try send(call, in: environment, options)
    }

    /// How far an extension for all is (Get Status of Subscription Renewal Date Extensions,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-status-of-subscription-renewal-date-extensions).
    package func extensionProgress(
        of productID: String, requestIdentifier: String, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> ExtensionProgress {
        let call = try ServerAPICall(
            .massExtensionStatus, ["v1", "subscriptions", "extend", "mass", productID, requestIdentifier])
        return try AnswerReader(self, environment).read(try send(call, in: environment, options))
    }
}
