import Base
import Customers
import Database
import Subscriptions
import TestSupport
import Testing

/// Which calls use an id: the next event names the customer by it.
@Suite struct SeenIDTests {
    private static let device = "$RCAnonymousID:0123456789abcdef0123456789abcdef"
    private static let devicePath = "$RCAnonymousID%3A0123456789abcdef0123456789abcdef"

    /// The id by which an event names the customer now.
    private func used(_ id: String, _ database: TestDatabase) throws -> String? {
        let connection = try database.connect(role: "entitled_worker")
        return try CustomerTable.load([id], on: connection)[id]?.identity(of: id).appUserID
    }

    @Test func `reading by one id and by another is a change that is recorded at once, and by the same writes nothing`()
        throws
    {
        let scene = try SubscriberFixture()
        _ = scene.get("al")
        try scene.database.execute("INSERT INTO entitled.app_user_id VALUES ('albert', 'al', 1, NULL)")
        #expect(try used("al", scene.database) == "al")
        for id in ["albert", "al", "albert"] {
            // An app or a backend, at one instant of the clock.
            #expect(scene.get(id, key: id == "al" ? KeyedAPI.secretKey : KeyedAPI.publicKey).status == 200)
            try eventually("\(id) is recorded") { try used("al", scene.database) == id }
        }
        let rows = "SELECT id || xmin::text FROM entitled.app_user_id ORDER BY 1"
        let before = try scene.database.texts(rows)
        scene.clock.advance(by: .seconds(3000))
        for _ in 0..<5 { _ = scene.get("albert") }
        // What is recorded of another customer comes after what was not of this one.
        _ = scene.get("eve")
        scene.clock.advance(by: .seconds(7200))
        _ = scene.get("eve")
        try eventually("eve is recorded") {
            try scene.database.count("SELECT last_seen_ms FROM entitled.app_user_id WHERE id = 'eve'")
                == scene.clock.now()
        }
        #expect(try scene.database.texts(rows).filter { !$0.hasPrefix("eve") } == before)
    }

    @Test func `posting attributes, logging in and an alias use the id that they are about`() throws {
        let scene = try IdentityFixture()
        func alias(_ id: String, _ other: String) {
            let path = "/v1/subscribers/\(id)/alias"
            #expect(scene.post(path, ["new_app_user_id": .string(other)], key: KeyedAPI.secretKey).status == 200)
        }
        func check(_ expected: String, _ words: String = #function, line: Int = #line) throws {
            #expect(try used("al", scene.api.database) == expected, "line \(line)")
        }
        _ = scene.subscriber("al")
        alias("al", "b")
        try check("b")
        let path = "/v1/subscribers"
        #expect(scene.post("\(path)/al/attributes", ["attributes": .object([:])]).status == 200)
        try check("al")
        #expect(
            scene.post("\(path)/b/attribution", ["data": .object([:]), "network": .int(0)]).status == 200)
        try check("b")
        #expect(
            scene.post("\(path)/identify", ["app_user_id": .string("b"), "new_app_user_id": .string("al")]).status
                == 200)
        try check("al")
    }

    @Test func `a device's id comes before one that was made here`() throws {
        let scene = try IdentityFixture()
        let made = "$RCAnonymousID:fedcba9876543210fedcba9876543210"
        let worker = try scene.api.database.connect(role: "entitled_worker")
        try CustomerTable.make([made], now: 1, on: worker)
        _ = scene.subscriber(Self.devicePath)
        let actions = CustomerActions(origin: .init(actor: "tester"), foldSettings: FoldSettings())
        _ = try actions.alias(Self.device, made, on: worker)
        let customer = try #require(try CustomerTable.load([made], on: worker)[made])
        #expect(customer.identity(of: made).appUserID == Self.device)
    }
}
