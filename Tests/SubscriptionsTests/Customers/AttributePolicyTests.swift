import Base
import Subscriptions
import Testing

struct AttributePolicyTests {
    private static let now: Int64 = 1_790_000_000_000

    private func attribute(_ value: JSON, _ updated: Int64? = AttributePolicyTests.now) -> JSON {
        .object(["value": value, "updated_at_ms": updated.map { .int($0) }])
    }

    private func body(_ members: [String: JSON]) -> JSON {
        .object(members.sorted { $0.key < $1.key }.map { JSON.Member(name: $0.key, value: $0.value) })
    }

    private func known(_ members: [String: AttributeValue]) -> CustomerAttributes {
        members.reduce(into: CustomerAttributes()) { $0.add($1.key, $1.value) }
    }

    private func decide(
        _ members: [String: JSON], known: CustomerAttributes = CustomerAttributes()
    ) throws -> AttributePolicy.Decision {
        try #require(AttributePolicy.decide(body(members), known: known, own: known, now: Self.now))
    }

    // MARK: - Keys and values

    @Test(arguments: [
        "favourite_colour", "a", "A-b_9", String(repeating: "k", count: 40), "$email", "$displayName", "$idfa",
        "$posthogUserId", "$appleRefundHandlingPreference",
    ])
    func `a key that is allowed is written`(key: String) throws {
        let decision = try decide([key: attribute(.string("x@example.com"))])
        #expect(decision.faults.isEmpty)
        #expect(decision.writes[key] == AttributeValue(value: "x@example.com", updated: Self.now))
    }

    @Test(arguments: [
        ("", "Key name format is not valid."), ("a key", "Key name format is not valid."),
        ("9lives", "Key name format is not valid."), ("_x", "Key name format is not valid."),
        ("é", "Key name format is not valid."), ("a.b", "Key name format is not valid."),
        ("@a", "Key name format is not valid."), ("{a", "Key name format is not valid."),
        ("$mine", "Key name is reserved."), ("$", "Key name is reserved."), ("$EMAIL", "Key name is reserved."),
        (String(repeating: "k", count: 41), "Key name is too long."),
    ])
    func `a key that is not allowed is named, and the rest is saved`(key: String, message: String) throws {
        let decision = try decide([key: attribute(.string("x")), "good": attribute(.string("x"))])
        #expect(decision.faults == [AttributePolicy.Fault(key: key, message: message)])
        #expect(Array(decision.writes.keys) == ["good"])
    }

    @Test(arguments: [
        (JSON.int(5), "Value is not valid."), (.bool(true), "Value is not valid."), (.array([]), "Value is not valid."),
        (.string("a\u{0}b"), "Value is not valid."),
        (.string(String(repeating: "x", count: 501)), "Value is too long."),
        (.string("x" + String(repeating: "\u{301}", count: 3000)), "Value is too long."),
    ])
    func `a value that is none is named`(value: JSON, message: String) throws {
        #expect(try decide(["k": attribute(value)]).faults == [AttributePolicy.Fault(key: "k", message: message)])
        #expect(try decide(["k": attribute(.string(String(repeating: "é", count: 500)))]).faults.isEmpty)
    }

    @Test(arguments: ["", "a", "a@", "@example.com", "a@example", "a b@example.com", "a@.com", "a@example.", "a@b..c"])
    func `what can be no mail address is refused as one, and only as one`(text: String) throws {
        let decision = try decide(["$email": attribute(.string(text)), "other": attribute(.string(text))])
        let isDeletion = text.isEmpty
        #expect(decision.faults.map(\.key) == (isDeletion ? [] : ["$email"]))
        #expect(decision.writes["other"]?.value == (isDeletion ? nil : text))
    }

    @Test(
        arguments: [
            JSON.string("yesterday"), .int(-1), .bool(false), .double(-0.5), .double(0x1p63), .double(1e300),
        ])
    func `a time that is none is named`(time: JSON) throws {
        let decision = try decide(["k": .object(["value": .string("x"), "updated_at_ms": time])])
        #expect(decision.faults.map(\.message) == ["updated_at_ms is not valid."])
    }

    @Test(arguments: [JSON.null, .string("attributes"), .array([]), .int(1)])
    func `what is no object is nothing`(whole: JSON) {
        let none = CustomerAttributes()
        #expect(AttributePolicy.decide(whole, known: none, own: none, now: Self.now) == nil)
    }

    @Test func `without a time, or with one to come, it is now`() throws {
        let decision = try decide([
            "a": attribute(.string("x"), nil), "b": attribute(.string("x"), Self.now + 5_000),
            "c": .object(["value": .string("x"), "updated_at_ms": .null]),
            "d": .object(["value": .string("x"), "updated_at_ms": .double(5.4)]),
            "e": .object(["value": .string("x"), "updated_at_ms": .double(0x1p62)]),
        ])
        #expect(
            decision.writes.mapValues(\.updated) == [
                "a": Self.now, "b": Self.now, "c": Self.now, "d": 5, "e": Self.now,
            ])
    }

    // MARK: - What was there before

    /// Known value and time, new value and time, what is written.
    @Test(
        arguments: [
            ("old", 10, JSON.string("new"), 11, AttributeValue?.some(AttributeValue(value: "new", updated: 11))),
            ("old", 10, .string("new"), 9, nil), ("old", 10, .string("old"), 10, nil), ("old", 10, .null, 9, nil),
            ("old", 10, .null, 11, AttributeValue(value: nil, updated: 11)),
            ("old", 10, .string(""), 11, AttributeValue(value: nil, updated: 11)),
            // A deletion is remembered.
            (String?.none, 10, .string("older"), 9, nil),
            (nil, 10, .string("newer"), 11, AttributeValue(value: "newer", updated: 11)),
            // At one instant the greater value, in whatever order they come.
            ("a", 10, .string("b"), 10, AttributeValue(value: "b", updated: 10)), ("b", 10, .string("a"), 10, nil),
        ] as [(String?, Int64, JSON, Int64, AttributeValue?)])
    func `the newer one counts`(former: String?, at: Int64, new: JSON, time: Int64, written: AttributeValue?) throws {
        let known = known(["k": AttributeValue(value: former, updated: at)])
        let decision = try decide(["k": attribute(new, time)], known: known)
        #expect(decision.faults.isEmpty)
        #expect(decision.writes["k"] == written)
    }

    @Test(arguments: ["$idfa", "$idfv", "$gpsAdId", "$ip", "$mediaSource", "$campaign", "$ad", "$keyword", "$creative"])
    func `where somebody came from is said once`(key: String) throws {
        let known = known([key: AttributeValue(value: "first", updated: 5)])
        for value in [JSON.string("second"), .null] {
            let decision = try decide([key: attribute(value)], known: known)
            #expect(decision.writes.isEmpty && decision.faults.isEmpty)
        }
        #expect(try decide([key: attribute(.string("first"))]).writes.count == 1)
        // Of two customers who become one, the one who said it first is right.
        var both = known
        both.add(key, AttributeValue(value: "second", updated: 9))
        #expect(both.all[key]?.value == "first")
    }

    @Test func `attributes of several ids come to the same in any order`() {
        let items: [(String, AttributeValue)] = [
            ("a", AttributeValue(value: "1", updated: 1)), ("a", AttributeValue(value: "2", updated: 2)),
            ("a", AttributeValue(value: nil, updated: 2)), ("$ip", AttributeValue(value: "x", updated: 1)),
            ("$ip", AttributeValue(value: "y", updated: 2)), ("b", AttributeValue(value: "z", updated: 1)),
            ("b", AttributeValue(value: nil, updated: 3)),
        ]
        for shift in items.indices {
            var attributes = CustomerAttributes()
            for (key, value) in items[shift...] + items[..<shift] { attributes.add(key, value) }
            #expect(attributes.live.mapValues(\.value) == ["a": "2", "$ip": "x"])
            #expect(
                attributes.json.text
                    == #"{"$ip":{"updated_at_ms":1,"value":"x"},"a":{"updated_at_ms":2,"value":"2"}}"#)
        }
    }

    // MARK: - How many

    private func filled(_ count: Int) -> CustomerAttributes {
        known(
            Dictionary(
                uniqueKeysWithValues: (0..<count).map { ("k\($0)", AttributeValue(value: "v", updated: 1)) }))
    }

    @Test func `there are fifty custom keys, and what is deleted makes room`() throws {
        let full = filled(50)
        let more = try decide(
            ["new": attribute(.string("x")), "k1": attribute(.string("y")), "$email": attribute(.string("a@b.de"))],
            known: full)
        #expect(more.faults.map(\.key) == ["new"])
        #expect(Set(more.writes.keys) == ["k1", "$email"])
        let swapped = try decide(["new": attribute(.string("x")), "k1": attribute(.null)], known: full)
        #expect(swapped.faults.isEmpty)
        #expect(swapped.writes.count == 2)
        let many = try decide(
            Dictionary(uniqueKeysWithValues: (0..<60).map { ("n\($0)", attribute(.string("x"))) }))
        #expect(many.writes.count == 50)
        #expect(many.faults.count == 10)
    }

    @Test func `of what was deleted only the latest is remembered`() throws {
        let deleted = known(
            Dictionary(
                uniqueKeysWithValues: (0..<50).map { ("k\($0)", AttributeValue(value: nil, updated: Int64($0))) }))
        let decision = try decide(["x": attribute(.null), "y": attribute(.null)], known: deleted)
        #expect(decision.forgotten == ["k0", "k1"])
        #expect(try decide([:], known: deleted).forgotten.isEmpty)
    }

    // MARK: - Networks

    /// Network, what it gave, and what that is called.
    @Test(
        arguments: [
            (JSON.int(0), #"{"rc_idfa":"I","x":"y"}"#, ["$idfa": "I"]),
            (
                .int(1), #"{"adid":"1","network":"n","adgroup":"g","campaign":"c"}"#,
                ["$adjustId": "1", "$mediaSource": "n", "$adGroup": "g", "$campaign": "c"]
            ),
            (
                .string("2"), #"{"rc_attribution_network_id":"1","media_source":"m","adset":"s","adgroup":"g"}"#,
                ["$appsflyerId": "1", "$mediaSource": "m", "$adGroup": "s", "$ad": "g"]
            ),
            (.int(3), #"{"channel":"m","campaign":5}"#, ["$mediaSource": "m"]),
            (.int(9), #"{"channel":"m"}"#, [:]), (.null, #"{"channel":"m"}"#, [:]),
        ] as [(JSON, String, [String: String])])
    func `what a network gives is known by its attributes`(
        network: JSON, data: String, expected: [String: String]
    ) throws {
        let attributes = AttributionAttributes.attributes(try JSON(parsing: Array(data.utf8)), network: network)
        let decision = try #require(
            AttributePolicy.decide(
                attributes, known: CustomerAttributes(), own: CustomerAttributes(), now: Self.now))
        #expect(decision.faults.isEmpty)
        #expect(decision.writes.mapValues(\.value) == expected)
    }
}
