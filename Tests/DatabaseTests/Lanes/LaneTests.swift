import Base
import Database
import Testing

@Suite struct LaneTests {
    @Test(arguments: [
        ("demo", StoreEnvironment.production, "2000000000000001", 147), ("demo", .sandbox, "2000000000000001", 167),
        ("demo", .production, "2000000000000002", 135), ("other", .production, "2000000000000001", 55),
        ("", .sandbox, "", 108), ("Ünï", .production, "☃", 48),
    ])
    func `a purchase keeps its lane for ever`(
        app: String, environment: StoreEnvironment, subject: String, number: Int
    ) {
        #expect(Int(Lane(app: app, environment: environment, subject: subject).number) == number)
    }

    @Test(arguments: [2_000_000_000_000_000, 160_000_000_000_000, 1])
    func `consecutive purchases spread evenly`(first: Int) {
        var sizes: [Lane: Int] = [:]
        for number in 0..<25_600 {
            sizes[Lane(app: "demo", environment: .production, subject: String(first + number)), default: 0] += 1
        }
        #expect(sizes.count == Lane.count)
        // A hundred each on average; six deviations are sixty.
        #expect(sizes.values.allSatisfy { (40...160).contains($0) })
    }

    @Test func `there are 256 lanes, in order`() {
        #expect(Lane.all.count == 256)
        #expect(Lane.all == Lane.all.sorted())
        #expect(Lane.all.first?.number == 0 && Lane.all.last?.number == 255)
    }
}

@Suite struct NotificationIdentityTests {
    @Test(arguments: [
        "002e14d5-51f5-4503-b5a8-c3a1af68eb20", "002E14D5-51F5-4503-B5A8-C3A1AF68EB20",
    ])
    func `a UUID is known by its own bytes in any case`(text: String) {
        #expect(Hex.encode(NotificationIdentity.key(text)) == "002e14d551f54503b5a8c3a1af68eb20")
    }

    @Test func `a text that is no UUID has a key of its own`() {
        let keys = ["", "x", "y", "002e14d5-51f5-4503-b5a8-c3a1af68eb2"].map(NotificationIdentity.key)
        #expect(Set(keys).count == 4)
        #expect(keys.allSatisfy { $0.count == 16 })
    }

    @Test func `sixteen bytes become an upper-case UUID and come back`() {
        let bytes = [UInt8](0..<16)
        #expect(UUIDText.upper(bytes) == "00010203-0405-0607-0809-0A0B0C0D0E0F")
        #expect(UUIDText.bytes(UUIDText.upper(bytes)) == bytes)
        #expect(UUIDText.bytes("0001020304050607") == nil)
    }
}
