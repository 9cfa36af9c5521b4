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

    @Test func `an owner after a deletion cannot be told from the one before`() {
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "1")
        let ids = [nil, 1, 2].map {
            Owner.anonymousID(for: key, account: "7", deletion: $0, digest: digest)
        }
        #expect(Set(ids).count == 3)
        #expect(ids.allSatisfy(Owner.isAnonymous))
    }

    // MARK: - Restoring

    private typealias Outcome = RestoreBehavior.Outcome

    /// Rows of RevenueCat's table of restore behaviours: owner identified, without and with an active subscription.
    @Test(arguments: [
        (RestoreBehavior.transfer, RestoreBehavior.Outcome.move, RestoreBehavior.Outcome.move),
        (.transferIfNoActiveSubscriptions, .move, .refused("the owner has an active subscription")),
        (.keep, .refused("purchases stay with their owner"), .refused("purchases stay with their owner")),
        (.share, .join, .join),
    ])
    func `each restore behaviour does what its name says`(
        behavior: RestoreBehavior, idle: RestoreBehavior.Outcome, active: RestoreBehavior.Outcome
    ) {
        func outcome(_ isActive: Bool, isSame: Bool = false, isAnonymous: Bool = false) -> RestoreBehavior.Outcome {
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
        .map { $0.id(digest: digest) }
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
