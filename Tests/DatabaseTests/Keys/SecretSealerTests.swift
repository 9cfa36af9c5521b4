import Base
import Crypto
import Database
import Testing

@Suite struct SecretSealerTests {
    private func key(_ byte: UInt8) -> Redacted<[UInt8]> { Redacted([UInt8](repeating: byte, count: 32)) }
    private let secret = Array("a secret".utf8)

    @Test func `what is sealed opens for its endpoint only`() throws {
        let sealer = SecretSealer(keys: [key(1)])
        let sealed = try sealer.seal(secret, for: "we_1")
        #expect(sealer.open(sealed, for: "we_1") == secret)
        #expect(sealer.open(sealed, for: "we_2") == nil)
        #expect(!sealed.contains(secret))
    }

    @Test func `the newest key seals and every key opens`() throws {
        let old = try SecretSealer(keys: [key(1)]).seal(secret, for: "we_1")
        let both = SecretSealer(keys: [key(2), key(1)])
        #expect(both.open(old, for: "we_1") == secret)
        let new = try both.seal(secret, for: "we_1")
        #expect(SecretSealer(keys: [key(2)]).open(new, for: "we_1") == secret)
        #expect(SecretSealer(keys: [key(1)]).open(new, for: "we_1") == nil)
    }

    @Test func `a changed byte does not open`() throws {
        let sealer = SecretSealer(keys: [key(1)])
        let sealed = try sealer.seal(secret, for: "we_1")
        for place in sealed.indices {
            var changed = sealed
            changed[place] ^= 1
            #expect(sealer.open(changed, for: "we_1") == nil)
        }
        #expect(sealer.open([], for: "we_1") == nil)
    }

    @Test func `the fingerprint names the newest key without telling it`() {
        let sealer = SecretSealer(keys: [key(2), key(1)])
        #expect(sealer.fingerprint == SecretSealer(keys: [key(2)]).fingerprint)
        #expect(sealer.fingerprints.count == 2 && Set(sealer.fingerprints).count == 2)
        #expect(!sealer.fingerprint.contains("0202"))
    }

    @Test func `without a key nothing is sealed`() {
        #expect(throws: (any Error).self) { try SecretSealer(keys: []).seal(secret, for: "we_1") }
    }
}

@Suite struct DeliveryIDTests {
    private let event = [UInt8](repeating: 3, count: 16)

    @Test func `an id follows from event and endpoint, whoever makes it`() {
        let id = DeliveryID(lane: .init(number: 200), event: event, endpoint: "we_1")
        #expect(id == DeliveryID(lane: .init(number: 200), event: event, endpoint: "we_1"))
        #expect(id != DeliveryID(lane: .init(number: 200), event: event, endpoint: "we_2"))
        #expect(id.bytes.count == 16)
    }

    @Test(arguments: [Int16(0), 15, 16, 255])
    func `the text names the lane and comes back`(lane: Int16) {
        let id = DeliveryID(lane: .init(number: lane), event: event, endpoint: "we_1")
        #expect(id.text.hasPrefix("dlv_") && id.text.utf8.count == 38)
        #expect(DeliveryID(text: id.text) == id)
    }

    @Test(arguments: ["", "dlv_", "dlv_00", "dlx_00", "dlv_zz", "dlv_" + String(repeating: "0", count: 36)])
    func `other texts are no ids`(text: String) {
        #expect(DeliveryID(text: text) == nil)
    }
}

@Suite struct EndpointTests {
    struct Case: Sendable {
        var environments: [StoreEnvironment] = []
        var events: [String] = []
        var apps: [String] = []
        let wants: Bool
    }

    @Test(arguments: [
        Case(wants: true), Case(environments: [.production], wants: true), Case(environments: [.sandbox], wants: false),
        Case(environments: [.sandbox, .production], wants: true), Case(events: ["RENEWAL"], wants: true),
        Case(events: ["renewal"], wants: false), Case(events: ["TEST", "RENEWAL"], wants: true),
        Case(apps: ["other"], wants: false), Case(apps: ["other", "demo"], wants: true),
        Case(environments: [.production], events: ["RENEWAL"], apps: ["other"], wants: false),
    ])
    func `an event goes where every filter lets it`(test: Case) {
        let endpoint = Endpoint(
            id: "we_1", url: "https://example.com", environments: test.environments, events: test.events,
            apps: test.apps, created: 1)
        #expect(endpoint.wants(type: "RENEWAL", app: "demo", environment: .production) == test.wants)
    }

    @Test func `an endpoint gets all types but those that it excepts`() {
        let endpoint = Endpoint(
            id: "we_1", url: "https://example.com", exceptedEvents: ["TEST", "RENEWAL"], created: 1)
        func wants(_ type: String) -> Bool { endpoint.wants(type: type, app: "demo", environment: .sandbox) }
        #expect(!wants("RENEWAL") && wants("EXPIRATION"))
    }

    /// A strict enumeration of RevenueCat's types refuses them; Apple's own type of that name is another thing.
    @Test(arguments: ["CONSUMPTION_REQUEST", "SUBSCRIBER_ALIAS"])
    func `types that RevenueCat does not send go only where they are named`(type: String) {
        func wants(_ events: [String], _ format: EndpointFormat = .revenuecat) -> Bool {
            Endpoint(id: "we_1", url: "https://example.com", events: events, format: format, created: 1)
                .wants(type: type, app: "demo", environment: .sandbox)
        }
        #expect(!wants([]) && wants([type]) && wants(["RENEWAL", type]) && wants([], .raw))
    }
}
