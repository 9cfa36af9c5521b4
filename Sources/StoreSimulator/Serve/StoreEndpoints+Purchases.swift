import Base
import Crypto
import HTTP

/// What customers bought.
extension StoreEndpoints {
    func transactionInfo(_ id: String, _ state: StoreState) throws -> JSON {
        .object(["signedTransactionInfo": .string(try signed(try transaction(id, state)))])
    }

    func appTransaction(_ id: String, _ state: StoreState) throws -> JSON {
        let customer = try state.ledger.customer(of: id)
        let app = state.settings.app
        var payload = PayloadMembers()
        payload.text("receiptType", app.environment)
        payload.integer("appAppleId", app.appleAppID)
        payload.text("bundleId", app.bundleID)
        payload.text("applicationVersion", app.bundleVersion)
        payload.integer("receiptCreationDate", now)
        payload.integer("originalPurchaseDate", state.ledger.purchases(of: customer).map(\.purchased).min())
        payload.text("originalApplicationVersion", "600")
        payload.text("appTransactionId", customer)
        payload.text("originalPlatform", "iOS")
        return .object(["signedAppTransactionInfo": .string(try signer.sign(payload.json))])
    }

    func order(_ id: String, _ state: StoreState) throws -> JSON {
        guard let transaction = state.ledger.transaction(ofOrder: id) else {
            return .object(["status": .int(1), "signedTransactions": .array([])])
        }
        return .object(["status": .int(0), "signedTransactions": .array([.string(try signed(transaction))])])
    }

    func statuses(_ id: String, _ request: StoreRequest, _ state: StoreState) throws -> JSON {
        let customer = try state.ledger.customer(of: id)
        let wanted = try Set(
            request.values("status").map { text in
                guard let status = Int64(text), (1...5).contains(status) else { throw StoreRejection(4_000_031) }
                return status
            })
        var groups: [(id: String, last: [JSON])] = []
        for subscription in state.ledger.subscriptions(of: customer) {
            guard wanted.isEmpty || wanted.contains(subscription.status),
                let latest = state.ledger.transactions[subscription.latest]
            else { continue }
            let item = JSON.object([
                "originalTransactionId": .string(subscription.originalID), "status": .int(subscription.status),
                "signedTransactionInfo": .string(try signed(latest)),
                "signedRenewalInfo": .string(try signer.sign(subscription.signedRenewal(at: now))),
            ])
            let group = latest.text("subscriptionGroupIdentifier") ?? ""
            if let index = groups.firstIndex(where: { $0.id == group }) {
                groups[index].last.append(item)
            } else {
                groups.append((group, [item]))
            }
        }
        let data = groups.map { group in
            JSON.object([
                "subscriptionGroupIdentifier": .string(group.id), "lastTransactions": .array(group.last),
            ])
        }
        return .object(about(state.settings.app) + [.init(name: "data", value: .array(data))])
    }

    // MARK: - Pages

    func transactionHistory(_ id: String, _ request: StoreRequest, _ state: StoreState) throws -> JSON {
        let customer = try state.ledger.customer(of: id)
        let filter = try TransactionHistoryFilter(request)
        let found = state.ledger.purchases(of: customer).filter(filter.fits)
        let page = try page(
            found.map { ($0.modified, $0) }, isDescending: filter.isDescending,
            of: "\(customer)?\(request.filter(without: ["revision"]))", request)
        return .object(page + about(state.settings.app))
    }

    func refundHistory(_ id: String, _ request: StoreRequest, _ state: StoreState) throws -> JSON {
        let customer = try state.ledger.customer(of: id)
        let refunded = state.ledger.purchases(of: customer).compactMap { transaction in
            transaction.refunded.map { ($0, transaction) }
        }
        return .object(try page(refunded, isDescending: false, of: "refunds of \(customer)", request))
    }

    /// Twenty of these in their order, behind the revision that the request has. A revision is the place of the last one,
    /// so that it can be kept, and gives later what came or changed since.
    private func page(
        _ items: [(order: Int64, transaction: LedgerTransaction)], isDescending: Bool, of query: String,
        _ request: StoreRequest
    ) throws -> [JSON.Member] {
        let sorted = items.map { (key: Revision(order: $0.order, id: $0.transaction.id), transaction: $0.transaction) }
            .sorted { isDescending ? $1.key < $0.key : $0.key < $1.key }
        let mark = Hex.encode(Digest.sha256(Array(query.utf8)).prefix(6))
        var rest = sorted[...]
        var last: Revision?
        if let text = request.value("revision") {
            let after = try Revision(text, mark: mark)
            rest = rest.drop { isDescending ? after <= $0.key : $0.key <= after }
            last = after
        }
        let page = rest.prefix(StoreEndpoints.pageSize)
        last = page.last?.key ?? last
        return [
            .init(name: "revision", value: .string((last ?? Revision(order: 0, id: "")).text(mark: mark))),
            .init(name: "hasMore", value: .bool(rest.count > page.count)),
            .init(name: "signedTransactions", value: .strings(try page.map { try signed($0.transaction) })),
        ]
    }

    func signed(_ transaction: LedgerTransaction) throws -> String {
        try signer.sign(transaction.signed(at: now))
    }
}

/// A place in an order of transactions.
private struct Revision: Comparable {
    let order: Int64
    let id: String

    static func < (a: Revision, b: Revision) -> Bool { (a.order, a.id) < (b.order, b.id) }

    init(order: Int64, id: String) {
        self.order = order
        self.id = id
    }

    /// Refuses one of another query.
    init(_ text: String, mark: String) throws(StoreRejection) {
        let parts = text.split(separator: "_", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == mark, let order = Int64(parts[1]) else { throw StoreRejection(4_000_005) }
        self.init(order: order, id: String(parts[2]))
    }

    func text(mark: String) -> String { "\(mark)_\(order)_\(id)" }
}
