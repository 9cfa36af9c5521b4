import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Attributes on their way to consumers of webhooks.
@Suite struct AttributeEventTests {
    @Test func `events have the attributes of whom they are about, of all ids, as they are then`() throws {
        let installation = try Installation()
        let consumer = try Consumer()
        defer { consumer.stop() }
        _ = try installation.addEndpoint(consumer)
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let connection = try installation.database.connect(role: "entitled_api")
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        func say(_ text: String?, of id: String, at time: Int64) throws {
            let value = JSON.object(["value": .text(text), "updated_at_ms": .int(time)])
            #expect(try actions.setAttributes(.object(["colour": value]), of: id, on: connection) == [])
        }
        var life = SubscriberLife(app: Installation.app, seed: 97)
        let token = try #require(life.account.token)
        func attributes(_ type: String, after count: Int) throws -> String? {
            let requests = try consumer.wait(count)
            return requests.last { $0.type == type }?.event?["subscriber_attributes"]?.text
        }
        try installation.postAll([life.start(at: Installation.start)])
        #expect(try attributes("INITIAL_PURCHASE", after: 1) == "{}")
        try say("red", of: token, at: 5)
        _ = try actions.alias(token, "bob", on: connection)
        try say("blue", of: "bob", at: 6)
        try installation.postAll([life.autoRenewOff(at: Installation.start + 3_600_000)])
        #expect(try attributes("CANCELLATION", after: 2) == #"{"colour":{"updated_at_ms":6,"value":"blue"}}"#)
        try say("green", of: "heir", at: 7)
        _ = try actions.transfer(from: "bob", to: "heir", on: connection)
        #expect(try attributes("TRANSFER", after: 3) == #"{"colour":{"updated_at_ms":7,"value":"green"}}"#)
        try say(nil, of: "heir", at: 8)
        try installation.postAll([life.autoRenewOn(at: Installation.start + 7_200_000)])
        #expect(try attributes("UNCANCELLATION", after: 4) == "{}")
    }
}
