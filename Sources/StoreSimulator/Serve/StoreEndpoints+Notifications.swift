import Base
import Crypto

/// What was sent to the seller.
extension StoreEndpoints {
    private static let types: Set<String> = [
        "CONSUMPTION_REQUEST", "DID_CHANGE_RENEWAL_PREF", "DID_CHANGE_RENEWAL_STATUS", "DID_FAIL_TO_RENEW", "DID_RENEW",
        "EXPIRED", "EXTERNAL_PURCHASE_TOKEN", "GRACE_PERIOD_EXPIRED", "METADATA_UPDATE", "MIGRATION", "OFFER_REDEEMED",
        "ONE_TIME_CHARGE", "PRICE_CHANGE", "PRICE_INCREASE", "REFUND", "REFUND_DECLINED", "REFUND_REVERSED",
        "RENEWAL_EXTENDED", "RENEWAL_EXTENSION", "RESCIND_CONSENT", "REVOKE", "SUBSCRIBED", "TEST",
    ]

    /// What a request for the history asks for.
    private struct Query {
        let start: Int64
        let end: Int64
        let type: String?
        let subtype: String?
        let customer: String?
        let onlyFailures: Bool
        /// The same for the same question.
        let mark: String

        func fits(_ entry: HistoryEntry) -> Bool {
            let notification = entry.letter.notification
            return !entry.isTest && (start...end).contains(notification.signedDate)
                && (type == nil || notification.type == type) && (subtype == nil || notification.subtype == subtype)
                && (customer == nil || entry.customer == customer) && !(onlyFailures && entry.isDelivered)
        }
    }

    func notificationHistory(_ request: StoreRequest, _ state: StoreState) throws -> JSON {
        let query = try query(request.body ?? .null, state)
        var place = 0
        if let token = request.value("paginationToken") {
            let parts = token.split(separator: "_", omittingEmptySubsequences: false)
            guard parts.count == 2, parts[0] == query.mark, let number = Int(parts[1]), number >= 0 else {
                throw StoreRejection(4_000_014)
            }
            place = number
        }
        var found: [JSON] = []
        while place < state.history.count, found.count < StoreEndpoints.pageSize {
            if query.fits(state.history[place]) { found.append(try state.history[place].json(signer)) }
            place += 1
        }
        let hasMore = state.history.dropFirst(place).contains(where: query.fits)
        return .object([
            "paginationToken": hasMore ? .string("\(query.mark)_\(place)") : nil, "hasMore": .bool(hasMore),
            "notificationHistory": .array(found),
        ])
    }

    private func query(_ body: JSON, _ state: StoreState) throws -> Query {
        guard let start = body["startDate"]?.intValue else { throw StoreRejection(4_000_015) }
        guard let end = body["endDate"]?.intValue else { throw StoreRejection(4_000_016) }
        let reach = (state.settings.app.isSandbox ? 30 : 180) &* StoreProduct.day
        guard start >= now &- reach &- 600_000 else { throw StoreRejection(4_000_012) }
        guard start < end else { throw StoreRejection(4_000_013) }
        let (type, subtype) = (body["notificationType"]?.stringValue, body["notificationSubtype"]?.stringValue)
        guard type.map(StoreEndpoints.types.contains) ?? (subtype == nil) else { throw StoreRejection(4_000_018) }
        let id = body["transactionId"]?.stringValue
        guard id == nil || type == nil else { throw StoreRejection(4_000_019) }
        return Query(
            start: start, end: end, type: type, subtype: subtype, customer: try id.map(state.ledger.customer),
            onlyFailures: body["onlyFailures"]?.boolValue ?? false,
            mark: Hex.encode(Digest.sha256(body.bytes).prefix(8)))
    }

    func requestTest(_ state: inout StoreState) throws -> JSON {
        guard state.settings.receiver != nil else { throw StoreRejection(4_040_007) }
        var notices = StoreNotices(app: state.settings.app, seed: state.random.next())
        let token = "\(state.random.uuid())_\(now)"
        state.admitTest(token, notices.test(at: now), at: now)
        return .object(["testNotificationToken": .string(token)])
    }

    func testStatus(_ token: String, _ state: StoreState) throws -> JSON {
        guard let place = state.tests[token], !state.history[place].attempts.isEmpty else {
            throw StoreRejection(4_040_008)
        }
        return try state.history[place].json(signer)
    }
}
