import Base
import HTTPServer
import Subscriptions

/// A request, as limits see it: from where, with which key, about whom, and what it costs.
struct LimitedRequest: Sendable {
    let route: APIRoute
    /// Nil for backends.
    let client: (address: ClientAddress, isProxy: Bool)?
    let key: APIKey?
    /// The customers that the request names.
    private var appUserIDs: [String] = []
    /// Apple's number of the account, or of the purchase, that it brings something signed of. Not verified yet.
    private(set) var account: String?
    private let cost: Int

    /// Bytes. Larger bodies hold app receipts, which name no account before they are verified; reading them takes a
    /// thread of the listener for too long, so that only their size counts. A signed transaction in one is refused.
    static let largestBody = 131_072

    /// A request with an unknown key. It costs as much as a write, because the database is asked for the key, and
    /// counts for its address only.
    init(unknownKey request: HTTPRequest, to route: APIRoute, _ proxies: TrustedProxies) {
        self.route = route
        key = nil
        client = proxies.client(request.head, peer: request.remoteAddress)
        cost = RequestCost.write
    }

    init(
        _ request: HTTPRequest, to route: APIRoute, parameters: [String: String], key: APIKey?,
        _ proxies: TrustedProxies
    ) {
        self.route = route
        self.key = key
        // Where a backend is does not matter.
        client = key?.kind == .secret ? nil : proxies.client(request.head, peer: request.remoteAddress)
        let base = route.method == "GET" || !route.isSupported ? RequestCost.read : RequestCost.write
        cost = base + request.body.count / RequestCost.bytesOfPoint
        if let id = parameters["app_user_id"] { appUserIDs.append(AppUserID.normal(id)) }
        guard route.namesCustomerInBody, request.body.count <= LimitedRequest.largestBody,
            let body = try? JSON(parsing: request.body, deepest: APICall.deepestBody)
        else { return }
        for name in ["app_user_id", "new_app_user_id"] {
            if let id = body[name]?.stringValue { appUserIDs.append(AppUserID.normal(id)) }
        }
        account =
            ["fetch_token", "app_transaction"].lazy.compactMap { body[$0]?.stringValue.flatMap(LimitedRequest.account) }
            .first
    }

    /// The share of the threads that the request counts for: that of its address, and of its Apple account.
    var share: WorkShare {
        let account = account.map { LimitedRequest.hash("account", $0) }
        if let key, key.kind == .secret {
            return WorkShare(owner: LimitedRequest.hash("key", key.name), account: account, isBounded: false)
        }
        return WorkShare(
            owner: client.map { LimitedRequest.hash("address", $0.address) } ?? 0, account: account,
            isBounded: client != nil)
    }

    /// The buckets that it takes points from: of which limit, for which value, and which bucket that is.
    var charges: [Charge] {
        var charges: [Charge] = []
        func charge(_ kind: LimitKind, _ value: String) {
            charges.append(Charge(kind: kind, value: value, bucket: LimitedRequest.hash(kind, value), cost: cost))
        }
        switch key?.kind {
        case .secret: charge(.secretKey, key?.name ?? "")
        case .public, nil:
            if let client { charge(.address, client.address.description) }
            guard let key else { break }
            charge(.publicKey, key.name)
            for id in Set(appUserIDs) { charge(.appUserID, id) }
        }
        if let account { charge(.appleAccount, account) }
        return charges
    }

    struct Charge {
        let kind: LimitKind
        let value: String
        let bucket: UInt64
        let cost: Int
    }

    /// Differs from process to process: no caller can choose values that meet in one bucket.
    private static func hash(_ kind: some Hashable, _ value: some Hashable) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(value)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    /// What a signed transaction names; nil for what is none.
    private static func account(_ jws: String) -> String? {
        let parts = jws.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let payload = Base64.decodeURL(Array(parts[1].utf8)),
            let json = try? JSON(parsing: payload, deepest: APICall.deepestBody)
        else { return nil }
        return (json["appTransactionId"] ?? json["originalTransactionId"])?.stringValue.map { String($0.prefix(64)) }
    }
}

extension APIRoute {
    /// Whether the body may name customers and bring what Apple signed.
    fileprivate var namesCustomerInBody: Bool {
        [
            "/v1/receipts", "/v1/subscribers/identify", "/v1/offers",
            "/v1/subscribers/{app_user_id}/restore/eligibility",
        ].contains(path)
    }

    /// Whether callers take every answer that is no 5xx for the end of it: apps finish their transaction, and SDKs
    /// forget the attributes that they had to send.
    var endsWithAnyAnswer: Bool {
        [
            "/v1/receipts", "/apple/transactions", "/v1/subscribers/{app_user_id}/attributes",
            "/v1/subscribers/{app_user_id}/attribution", "/v1/subscribers/{app_user_id}/adservices_attribution",
        ].contains(path)
    }
}

extension APIKey {
    /// As log lines name it. Keys of the configuration count together where they are of one kind and app.
    fileprivate var name: String { id ?? "configuration, \(kind.rawValue)\(app.map { ", \($0)" } ?? "")" }
}
