import Base

/// Notifications that belong to no purchase. The same app, seed and calls give the same notifications.
package struct StoreNotices: Sendable {
    private let app: StoreApp
    private var random: SeededRandom
    private let identifiers: IdentifierSequence

    /// Subtypes of EXTERNAL_PURCHASE_TOKEN.
    package static let tokenSubtypes = ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"]

    package init(app: StoreApp = StoreApp(), seed: UInt64, number: UInt64 = 0) {
        self.app = app
        // A stream that no subscriber has.
        random = SeededRandom(seed: seed, stream: ~number)
        identifiers = IdentifierSequence(seed: seed, life: number, isSandbox: app.isSandbox)
    }

    private mutating func make(
        _ type: String, _ subtype: String?, _ content: StoreNotification.Content, at: Int64
    ) -> StoreNotification {
        StoreNotification(type: type, subtype: subtype, uuid: random.uuid(), signedDate: at, content: content)
    }

    package mutating func test(at: Int64) -> StoreNotification {
        let fields = app.members(withID: false).members
        return make("TEST", nil, .data(fields, transaction: nil, renewal: nil, status: nil), at: at)
    }

    /// An extension for all subscribers is done.
    package mutating func extensionSummary(product: StoreProduct = .proMonthly, at: Int64) -> StoreNotification {
        var summary = PayloadMembers()
        summary.text("requestIdentifier", random.uuid())
        summary.append(app.members().members)
        summary.text("productId", product.id)
        summary.add("storefrontCountryCodes", .strings(["CAN", "USA", "MEX"]))
        summary.integer("succeededCount", 5)
        summary.integer("failedCount", 2)
        return make("RENEWAL_EXTENSION", "SUMMARY", .summary(summary.json), at: at)
    }

    package mutating func externalPurchaseToken(_ subtype: String = "UNREPORTED", at: Int64) -> StoreNotification {
        var token = PayloadMembers()
        token.text("externalPurchaseId", (app.isSandbox ? "SANDBOX_" : "") + random.uuid())
        token.integer("tokenCreationDate", at &- StoreProduct.day)
        token.integer("appAppleId", app.appleAppID)
        token.text("bundleId", app.bundleID)
        if subtype != "UNREPORTED" {
            token.text("tokenType", "SERVICES")
            token.integer("tokenExpirationDate", at &+ 30 &* StoreProduct.day)
        }
        return make("EXTERNAL_PURCHASE_TOKEN", subtype, .externalPurchaseToken(token.json), at: at)
    }

    /// A guardian withdrew consent for this app.
    package mutating func rescindConsent(at: Int64) -> StoreNotification {
        var transaction = PayloadMembers()
        transaction.text("receiptType", app.environment)
        transaction.integer("appAppleId", app.appleAppID)
        transaction.text("bundleId", app.bundleID)
        transaction.text("applicationVersion", app.bundleVersion)
        transaction.integer("receiptCreationDate", at)
        transaction.integer("originalPurchaseDate", at &- 90 &* StoreProduct.day)
        transaction.text("originalApplicationVersion", "600")
        let device = (0..<48).map { _ in UInt8.random(in: 0...255, using: &random) }
        transaction.text("deviceVerification", Base64.encode(device))
        transaction.text("deviceVerificationNonce", random.uuid())
        transaction.text("appTransactionId", identifiers.account())
        transaction.text("originalPlatform", "iOS")
        return make("RESCIND_CONSENT", nil, .appData(app.members().members, appTransaction: transaction.json), at: at)
    }

    /// An unknown type, subtype and members.
    package mutating func fromTheFuture(at: Int64) -> StoreNotification {
        var moon = PayloadMembers()
        moon.add("phase", .double(0.25))
        moon.add("names", .array([.string("Luna"), .null]))
        var fields = app.members()
        fields.text("bundleVersion", app.bundleVersion)
        fields.add("moon", moon.json)
        var made = make(
            "MOON_PHASE_CHANGED", "WAXING", .data(fields.members, transaction: nil, renewal: nil, status: nil), at: at)
        made.unknownMembers = [JSON.Member(name: "orbit", value: .array([.int(1), .int(2), .int(3)]))]
        return made
    }
}
