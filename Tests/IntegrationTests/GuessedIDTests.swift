import Base
import Crypto
import Customers
import Database
import HTTP
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Ids of transactions are passed around, and can be guessed: nobody gets at a customer by knowing one.
@Suite struct GuessedIDTests {
    private static func sha256(_ text: String) -> [UInt8] { Digest.sha256(Array(text.utf8)) }

    @Test func `the anonymous owner of a purchase cannot be found by its ids`() throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 900, withToken: false)
        let started = life.start(at: SystemClock().now() - StoreProduct.day)
        #expect(try installation.post(started).status == 200)
        try installation.untilApplied(1)
        let owner = try #require(try installation.database.texts("SELECT owner FROM entitled.purchase").first)
        #expect(Owner.isAnonymous(owner))
        let key = PurchaseKey(
            app: "demo", environment: .production, originalTransactionID: life.latest.originalID)
        let guessed = [nil, life.account.appTransactionID].map {
            Owner.anonymousID(for: key, account: $0, digest: Self.sha256)
        }
        #expect(!guessed.contains(owner))
        let connection = try installation.database.connect(role: "entitled_api")
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "api"), foldSettings: FoldSettings())
        for (number, id) in guessed.enumerated() {
            _ = try actions.identify(id, as: "thief-\(number)", on: connection)
        }
        #expect(try CustomerTable.load([owner], on: connection)[owner]?.appUserIDs == [owner])
        try installation.expectNoDifferences()
    }
}
