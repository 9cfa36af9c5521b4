import Base
import Subscriptions
import Testing

struct RestoreSettingsTests {
    private let settings = RestoreSettings(
        general: .transfer,
        apps: [
            "both": .init(behavior: .keep, sandboxBehavior: .share),
            "one": .init(behavior: .keep, sandboxBehavior: nil),
            "sandbox": .init(behavior: nil, sandboxBehavior: .share),
            "none": .init(behavior: nil, sandboxBehavior: nil),
        ])

    /// App, and what counts in production and in the sandbox.
    @Test(arguments: [
        ("both", RestoreBehavior.keep, RestoreBehavior.share), ("one", .keep, .keep), ("sandbox", .transfer, .share),
        ("none", .transfer, .transfer), ("unknown", .transfer, .transfer),
    ])
    func `what is set nearest counts`(app: String, production: RestoreBehavior, sandbox: RestoreBehavior) {
        for (environment, expected) in [(StoreEnvironment.production, production), (.sandbox, sandbox)] {
            #expect(settings.behavior(app: app, environment: environment, override: nil) == expected)
            for own in RestoreBehavior.allCases {
                #expect(settings.behavior(app: app, environment: environment, override: own) == own)
            }
        }
    }

    @Test func `a new purchase makes nobody one with the owner of others, unless they are anonymous`() {
        func outcome(_ behavior: RestoreBehavior, isAnonymous: Bool = false) -> RestoreBehavior.RestoreDecision {
            behavior.outcome(
                isSame: false, isOwnerAnonymous: isAnonymous, isRestore: false, ownerHasActiveSubscription: true)
        }
        #expect(outcome(.share) == .refused("purchases are shared by restoring them"))
        #expect(outcome(.transfer) == .move)
        #expect(outcome(.share, isAnonymous: true) == .join)
    }
}
