import Base
import Subscriptions
import Testing

/// Who may be named how, and whose a purchase is.
struct IdentityTests {
    @Test(arguments: [
        "", " ", "\t", "no_user", "null", "none", "nil", "(null)", "NaN", "\\x00", "unidentified", "undefined",
        "unknown",
        "anonymous", "guest", "-1", "0", "[]", "{}", "[object Object]", "a/b", "/", "a\nb", "\u{7f}", "a/\u{338}b",
        "e\u{301}",
        String(repeating: "é", count: 101), "x" + String(repeating: "\u{301}", count: 100),
    ])
    func `an id that names nobody is refused`(id: String) {
        #expect(AppUserID.objection(to: id) != nil)
    }

    @Test(arguments: [
        "user-42", "NULL", "Guest", "1", "user@example.com", "$RCAnonymousID:0123456789abcdef0123456789abcdef", "用户",
        String(repeating: "é", count: 100), "x" + String(repeating: "\u{301}", count: 99), " x", " \u{301}",
    ])
    func `an id that names somebody is taken`(id: String) {
        #expect(AppUserID.objection(to: id) == nil)
    }

    /// Zero width, direction marks, fillers, styles without an emoji, tags without a flag, joiners without what they join, spaces
    /// of other widths, controls, private use and what is no character.
    @Test(arguments: [
        "\u{200b}", "user\u{200b}", "\u{202e}a", "a\u{2066}b", "\u{feff}a", "a\u{ad}b", "a\u{34f}", "\u{3164}",
        "\u{ffa0}a",
        "\u{115f}a", "a\u{fe0f}", "1\u{fe0f}", "a\u{e0101}", "a\u{e0061}\u{e007f}", "🏴\u{e0067}\u{e0062}", "a\u{e0001}",
        "a\u{200d}b", "a\u{200c}b", "👩\u{200d}", "\u{200d}👩", "م\u{200c}", "a\u{a0}b", "a\u{2003}b", "\u{3000}a",
        "a\u{2028}b", "a\u{85}b", "a\u{9b}b", "a\u{e000}", "a\u{10fffd}", "a\u{fffd}", "\u{2800}a",
        "a\u{fff9}b", "a\u{600}",
    ])
    func `an id that looks like another one, or like none, is refused where it is new`(id: String) {
        #expect(AppUserID.objection(toNew: id) != nil)
        #expect(AppUserID.objection(to: id) == nil)
    }

    @Test func `a code point that is no character is refused`() throws {
        for value in [0xffff, 0xfdd0, 0x1fffe] as [UInt32] {
            let id = "a" + String(Character(try #require(Unicode.Scalar(value))))
            #expect(AppUserID.objection(toNew: id)?.contains("U+") == true)
        }
    }

    @Test(arguments: [
        "用户", "пользователь", "ユーザー42", "사용자", "χρήστης", "مستخدم", "می\u{200c}خواهم", "ผู้ใช้", "উপযোগকর্তা",
        "क्\u{200d}ष", "ශ්\u{200d}රී", "👩\u{200d}👩\u{200d}👧", "👩🏽\u{200d}🚀", "❤\u{fe0f}", "❤\u{fe0f}\u{200d}🔥",
        "1\u{fe0f}\u{20e3}",
        "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}", "🇩🇪", "ada lovelace", "ünïcödé", "a.b+c@example.com",
    ])
    func `an id of any script, and of emoji, may be new`(id: String) {
        #expect(AppUserID.objection(toNew: AppUserID.normal(id)) == nil)
    }

    @Test func `an owner after a deletion cannot be told from the one before`() {
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")
        let ids = [nil, 1, 2].map {
            Owner.anonymousID(for: key, account: "7", deletion: $0, digest: digest)
        }
        #expect(Set(ids).count == 3)
        #expect(ids.allSatisfy(Owner.isAnonymous))
    }

    // MARK: - Restoring

    private typealias Outcome = RestoreBehavior.RestoreDecision

    /// Rows of RevenueCat's table of restore behaviours: owner identified, without and with an active subscription.
    @Test(arguments: [
        (RestoreBehavior.transfer, RestoreBehavior.RestoreDecision.move, RestoreBehavior.RestoreDecision.move),
        (.transferIfNoActiveSubscriptions, .move, .refused("the owner has an active subscription")),
        (.keep, .refused("purchases stay with their owner"), .refused("purchases stay with their owner")),
        (.share, .join, .join),
    ])
    func `each restore behaviour does what its name says`(
        behavior: RestoreBehavior, idle: RestoreBehavior.RestoreDecision, active: RestoreBehavior.RestoreDecision
    ) {
        func outcome(_ isActive: Bool, isSame: Bool = false, isAnonymous: Bool = false)
            -> RestoreBehavior.RestoreDecision
        {
            behavior.outcome(
                isSame: isSame, isOwnerAnonymous: isAnonymous, ownerHasActiveSubscription: isActive)
        }
        #expect(outcome(false) == idle)
        #expect(outcome(true) == active)
        for isActive in [false, true] {
            #expect(outcome(isActive, isSame: true) == .nothing)
            #expect(outcome(isActive, isAnonymous: true) == .join)
        }
    }

    @Test func `a transfer's event has its own id for each app and environment, and its members in order`() {
        func event(_ app: String, _ environment: StoreEnvironment, _ action: Int64) -> TransferEvent {
            TransferEvent(app: app, environment: environment, from: ["a"], to: ["b", "c"], action: action, at: epoch)
        }
        let ids = [
            event("x", .sandbox, 1), event("y", .sandbox, 1), event("x", .production, 1), event("x", .sandbox, 2),
        ]
        .map { $0.id }
        #expect(Set(ids).count == 4)
        let json = event("x", .sandbox, 1).json(id: "ID")
        #expect(
            json["event"]?.members?.map(\.name) == [
                "event_timestamp_ms", "environment", "store", "transferred_from", "transferred_to",
                "subscriber_attributes", "type", "id", "app_id",
            ])
        #expect(json["event"]?["transferred_to"] == .strings(["b", "c"]))
        #expect(json["event"]?["type"] == .string("TRANSFER"))
    }
}
