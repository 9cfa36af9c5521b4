import Base
import HTTP
import Subscriptions

/// A request, as limits see it: from where, with which key, about whom, and what it costs.
struct LimitedRequest: Sendable {
    enum Client: Sendable {
        /// Where a backend is does not matter.
        case backend
        case address(ClientAddress)
        /// Nothing tells those apart who come from this peer.
        case unknown(peer: String)
    }

    let route: APIRoute
    let client: Client
    let key: APIKey?
    /// The customers that the request names.
    private var appUserIDs: [String] = []
    /// Apple's number of the account, or of the purchase, that it claims to bring something signed of. Anyone can claim
    /// that: nothing is counted for the account before its route has verified it.
    private var account: String?
    private let cost: Int

    /// Bytes. Larger bodies hold app receipts, which name no account before they are verified; reading them takes a
    /// thread of the listener for too long, so that only their size counts. A signed transaction in one is refused.
    static let largestBody = 131_072

    /// A request with an unknown key. It costs as much as a write, because the database is asked for the key, and
    /// counts for its address only.
    init(unknownKey request: HTTPRequest, to route: APIRoute, _ proxies: TrustedProxies) {
        self.route = route
        key = nil
        client = LimitedRequest.client(of: request, proxies)
        cost = RequestCost.write
    }

    init(
        _ request: HTTPRequest, to route: APIRoute, parameters: [String: String], key: APIKey?,
        _ proxies: TrustedProxies
    ) {
        self.route = route
        self.key = key
        client = key?.kind == .secret ? .backend : LimitedRequest.client(of: request, proxies)
        let base = route.method == "GET" || !route.isSupported ? RequestCost.read : RequestCost.write
        cost = base + request.body.count / RequestCost.bytesOfPoint
        if let id = parameters["app_user_id"] { appUserIDs.append(AppUserID.normal(id)) }
        guard route.namesCustomerInBody, request.body.count <= LimitedRequest.largestBody,
            let body = try? JSON(parsing: request.body, deepest: APICall.deepestBody)
        else { return }
        for name in ["app_user_id", "new_app_user_id"] {
            if let id = body[name]?.stringValue { appUserIDs.append(AppUserID.normal(id)) }
        }
        // What its route verifies: an app transaction beside a token is passed over where it is not right.
        let signed = ["fetch_token", "app_transaction"].compactMap { body[$0]?.stringValue }.first { !$0.isEmpty }
        account = route.bringsTransaction ? signed.flatMap(LimitedRequest.account) : nil
    }

    private static func client(of request: HTTPRequest, _ proxies: TrustedProxies) -> Client {
        guard let address = proxies.client(request.head, peer: request.remoteAddress) else {
            return .unknown(peer: request.remoteAddress)
        }
        return .address(address)
    }

    /// Whether its client's address is one that a proxy may have.
    var isOfThisNetwork: Bool {
        if case .address(let address) = client { address.isLocal } else { false }
    }

    /// The share of the threads that the request counts for: that of its address, and of the Apple account that it
    /// names. Where no address tells forgers from others, they could keep an account busy, so that it does not count.
    var share: WorkShare {
        let account = account.map { LimitedRequest.hash("account", $0) }
        switch client {
        case .backend:
            return WorkShare(owner: LimitedRequest.hash("key", key?.name), account: account, isBounded: false)
        case .address(let address):
            return WorkShare(owner: LimitedRequest.hash("address", address), account: account, isBounded: true)
        case .unknown:
            return WorkShare(owner: 0, isBounded: false)
        }
    }

    /// The buckets that have to hold points for it: of which limit, for which value, and which bucket that is.
    var charges: [Charge] {
        var charges: [Charge] = []
        func charge(_ kind: LimitKind, _ value: String) {
            charges.append(Charge(kind: kind, value: value, bucket: LimitedRequest.hash(kind, value), cost: cost))
        }
        switch key?.kind {
        case .secret: charge(.secretKey, key?.name ?? "")
        case .public, nil:
            if case .address(let address) = client { charge(.address, address.description) }
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

        /// Whether it is taken only once its route has verified the request.
        var isClaimed: Bool { kind == .appleAccount }
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
    /// Whether the body may name customers.
    fileprivate var namesCustomerInBody: Bool {
        [
            "/v1/receipts", "/v1/subscribers/identify", "/v1/offers",
            "/v1/subscribers/{app_user_id}/restore/eligibility",
        ].contains(path)
    }

    /// Whether the body may bring what Apple signed of an account, and the route says so when it has verified it.
    fileprivate var bringsTransaction: Bool {
        ["/v1/receipts", "/v1/subscribers/{app_user_id}/restore/eligibility"].contains(path)
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
