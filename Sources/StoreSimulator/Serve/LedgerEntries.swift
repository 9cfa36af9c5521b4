import Base

/// One purchase or period as the store knows it now.
struct LedgerTransaction {
    /// What Apple would sign, with the date of the last change.
    private(set) var payload: PayloadMembers
    let id: String
    let originalID: String
    /// The app transaction id: who bought.
    let customer: String
    /// When something about it last changed; never the same for two of one customer.
    private(set) var modified: Int64

    /// Nil for a payload that names no transaction.
    init?(_ json: JSON, modified: Int64) {
        guard let id = json["transactionId"]?.stringValue, let original = json["originalTransactionId"]?.stringValue
        else { return nil }
        self.id = id
        originalID = original
        customer = json["appTransactionId"]?.stringValue ?? original
        payload = PayloadMembers(json)
        self.modified = modified
    }

    func text(_ name: String) -> String? { payload.json[name]?.stringValue }
    func integer(_ name: String) -> Int64? { payload.json[name]?.intValue }

    var purchased: Int64 { integer("purchaseDate") ?? 0 }
    var isFamilyShared: Bool { text("inAppOwnershipType") == "FAMILY_SHARED" }
    /// When the money went back; nil where it did not, also where Family Sharing ended.
    var refunded: Int64? { text("revocationType") == "FAMILY_REVOKE" ? nil : integer("revocationDate") }

    mutating func change(_ name: String, _ value: JSON?, at now: Int64) {
        payload.set(name, value)
        modified = max(modified &+ 1, now)
    }

    /// As it is signed now.
    func signed(at now: Int64) -> JSON {
        var payload = payload
        payload.set("signedDate", .int(now))
        return payload.json
    }
}

/// One subscription as the store knows it now.
struct LedgerSubscription {
    let originalID: String
    /// Apple's number: 1 active, 2 expired, 3 billing retry, 4 grace, 5 revoked.
    var status: Int64
    var renewal: PayloadMembers
    /// The id of the running or last period.
    var latest: String
    /// When the seller extended it; ms since 1970.
    var extensions: [Int64] = []

    func signedRenewal(at now: Int64) -> JSON {
        var renewal = renewal
        renewal.set("signedDate", .int(now))
        return renewal.json
    }
}
