import Base
import HTTP
import StoreSimulator
import TestSupport
import Testing

/// `POST /apple/transactions`, as the StoreKit 2 server tutorial has it.
@Suite struct AppleTransactionTests {
    private let installation: Installation
    private let worker: RunningWorker
    private let life: SubscriberLife
    private let apple: PlayedHistory
    private let bench: PostingFixture

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        var life = SubscriberLife(app: Installation.app, seed: 700)
        let notifications = [life.start(lasts: 60 * StoreProduct.day, at: Installation.start)]
        self.life = life
        apple = try PlayedHistory(installation, notifications)
        bench = try PostingFixture(installation, apple: apple)
    }

    private func ask(_ name: String, _ id: String, key: String = PostingFixture.publicKey) -> HTTPCall {
        bench.call(
            "/apple/transactions",
            .object([
                JSON.Member(name: name, value: .string(id)), JSON.Member(name: "displayPrice", value: .string("$1")),
            ]),
            key: key)
    }

    @Test(arguments: ["original_transaction_id", "originalTransactionId"])
    func `a named purchase is fetched, and an app learns only what it entitles to`(name: String) throws {
        defer { worker.stop() }
        let answer = ask(name, life.latest.originalID)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.json["entitlements"]?["pro"]?["product_identifier"] == .string("pro_monthly"))
        #expect(answer.json["subscriptions"]?["pro_monthly"] != nil)
        let token = try #require(life.account.token)
        #expect(!answer.text.contains(token) && !answer.text.contains("app_user_id"))
        #expect(try installation.database.texts("SELECT type FROM entitled.event") == ["INITIAL_PURCHASE"])
        #expect(try installation.database.texts("SELECT owner FROM entitled.purchase") == [token])
        // Again, and what Apple sends afterwards: nothing new.
        #expect(ask(name, life.latest.originalID).status == 200)
        try installation.expectNoDifferences()
    }

    @Test func `what is asked again and again is kept once, as long as Apple says the same`() throws {
        defer { worker.stop() }
        func count(_ table: String) throws -> Int64 {
            try installation.database.count("SELECT count(*) FROM entitled.\(table)")
        }
        #expect(ask("original_transaction_id", life.latest.originalID).status == 200)
        let before = try (count("notification"), count("fact"))
        for _ in 0..<3 { #expect(ask("original_transaction_id", life.latest.originalID).status == 200) }
        #expect(try (count("notification"), count("fact")) == before)
        for id in ["..", "1/2", String(repeating: "1", count: 65), "1\0", "1?a=b"] {
            let calls = apple.calls
            #expect(ask("original_transaction_id", id).status == 404)
            #expect(apple.calls == calls)
        }
    }

    @Test func `a backend gets the customer`() throws {
        defer { worker.stop() }
        let answer = ask("original_transaction_id", life.latest.originalID, key: PostingFixture.secretKey)
        #expect(answer.status == 200)
        #expect(answer.json.subscriber?["original_app_user_id"] == life.account.token.map { .string($0) })
    }

    @Test func `what Apple does not know is not found, and what it cannot say now comes later`() throws {
        defer { worker.stop() }
        let stranger = ask("original_transaction_id", "2000000999999999")
        #expect(stranger.status == 404)
        #expect(stranger.json["code"] == .int(7259))
        #expect(ask("original_transaction_id", "").status == 400)
        #expect(bench.call("/apple/transactions", .object([])).status == 400)
        #expect(bench.call("/apple/transactions", .object([]), key: nil).status == 401)
        let away = try PlayedHistory(installation, [], faults: [StoreFault(.unauthorized)])
        let other = try PostingFixture(installation, apple: away)
        let body = JSON.object(["original_transaction_id": .string(life.latest.originalID)])
        #expect(other.call("/apple/transactions", body).status == 503)
        let keyless = try PostingFixture(installation).call("/apple/transactions", body)
        #expect(keyless.status == 400)
        #expect(keyless.json["message"]?.stringValue?.contains("server_api") == true)
    }
}
