import Base
import HTTP

/// The endpoints of the App Store Server API (https://developer.apple.com/documentation/appstoreserverapi): which request
/// is for which.
struct StoreEndpoints {
    static let pageSize = 20

    let signer: NotificationSigner
    let now: Int64

    /// The answer to a request that is authorized; nil where there is nothing at its path.
    func answer(_ request: StoreRequest, _ state: inout StoreState) throws -> HTTPResponse? {
        let parts = request.parts
        switch (request.method, parts.count, parts.first ?? "") {
        case ("GET", _, _): return try get(request, state)
        case ("POST", 3, "v1") where parts[1...] == ["notifications", "history"]:
            return .json(200, try notificationHistory(request, state))
        case ("POST", 3, "v1") where parts[1...] == ["notifications", "test"]:
            return .json(200, try requestTest(&state))
        case ("POST", 4, "v1") where parts[1...] == ["subscriptions", "extend", "mass"]:
            return .json(200, try extendAll(request, &state))
        case ("POST", 4, "v1") where parts[1] == "transactions" && parts[3] == "finish":
            _ = try transaction(parts[2], state)
            return HTTPResponse(status: 200)
        case ("PUT", 4, "v1") where parts[1...2] == ["subscriptions", "extend"]:
            return .json(200, try extend(parts[3], request, &state))
        case ("PUT", 4, "v1") where parts[1] == "transactions" && parts[3] == "appAccountToken":
            return try setToken(parts[2], request, &state)
        case ("PUT", 4, let version) where parts[1...2] == ["transactions", "consumption"]:
            return try consume(parts[3], version, request, &state)
        default: return nil
        }
    }

    private func get(_ request: StoreRequest, _ state: StoreState) throws -> HTTPResponse? {
        let parts = request.parts
        let answer: JSON? =
            switch (parts.count, parts[0], parts.dropFirst().first ?? "") {
            case (3, "v1", "transactions"): try transactionInfo(parts[2], state)
            case (4, "v1", "transactions") where parts[2] == "appTransactions": try appTransaction(parts[3], state)
            case (3, "v1", "history"), (3, "v2", "history"): try transactionHistory(parts[2], request, state)
            case (4, "v2", "refund") where parts[2] == "lookup": try refundHistory(parts[3], request, state)
            case (3, "v1", "lookup"): try order(parts[2], state)
            case (3, "v1", "subscriptions"): try statuses(parts[2], request, state)
            case (6, "v1", "subscriptions") where parts[2...3] == ["extend", "mass"]:
                try massExtension(parts[4], parts[5], state)
            case (4, "v1", "notifications") where parts[2] == "test": try testStatus(parts[3], state)
            default: nil
            }
        return answer.map { .json(200, $0) }
    }

    /// What most answers say of the app.
    func about(_ app: StoreApp) -> [JSON.Member] {
        [
            .init(name: "environment", value: .string(app.environment)),
            .init(name: "bundleId", value: .string(app.bundleID)),
            .init(name: "appAppleId", value: .int(app.appleAppID)),
        ]
    }

    /// A transaction by its very id.
    func transaction(_ id: String, _ state: StoreState) throws -> LedgerTransaction {
        _ = try state.ledger.customer(of: id)
        guard let transaction = state.ledger.transactions[id] else { throw StoreRejection(4_040_010) }
        return transaction
    }
}
