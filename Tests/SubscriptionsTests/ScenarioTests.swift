import Subscriptions
import Testing

/// Chance comes up with everything, and what fails is made small.
struct ScenarioTests {
    /// Complains of an upgrade that is heard after a refund.
    private static let fake = Property { scenario in
        let types = scenario.heard.map { [$0.notification.type, $0.notification.subtype] }
        guard let refund = types.firstIndex(of: ["REFUND", nil]) else { return nil }
        return types[refund...].contains(["DID_CHANGE_RENEWAL_PREF", "UPGRADE"]) ? "an upgrade after a refund" : nil
    }

    private static let failing = Array(
        (0..<2000 as Range<UInt64>).lazy.map { Scenario(seed: $0) }
            .filter { fake.fault($0) != nil && $0.steps.count > 6 }.prefix(20))

    @Test func `a failing case is made as small as it can be`() {
        #expect(Self.failing.count == 20)
        for scenario in Self.failing {
            let smallest = shrunk(scenario) { Self.fake.fault($0) != nil }
            let deeds = smallest.steps.map(\.deed)
            #expect(deeds.count == 3, "\(smallest)")
            #expect(deeds.contains(.refund) && (deeds.contains(.upgrade) || deeds.contains(.crossgrade)))
            #expect(smallest.steps.allSatisfy { $0.hearings.count == 1 })
        }
    }

    @Test func `a failure names the seed, the fault and the steps that are left`() throws {
        let first = try #require(Self.failing.first)
        let text = try #require(Self.fake.failure(in: first.seed..<first.seed + 1))
        #expect(text.hasPrefix("an upgrade after a refund\nseed \(first.seed)"))
        #expect(text.contains("3 steps:") && text.contains("  refund after "))
        #expect(Property { _ in nil }.failure(in: 0..<10) == nil)
    }

    @Test func `chance comes up with every notification of the table`() {
        var made: Set<[String?]> = []
        for seed in 0..<600 as Range<UInt64> {
            for telling in Scenario(seed: seed).heard {
                made.insert([telling.notification.type, telling.notification.subtype])
            }
        }
        for row in EventTypeTable.rows where row.notificationType != "any" {
            #expect(made.contains([row.notificationType, row.subtype]), "\(row.name)")
        }
        #expect(made.contains(["SOMETHING_NEW", nil]))
    }

    @Test func `a seed always makes the same life, some out of order and some repeated`() {
        let scenarios = (0..<200 as Range<UInt64>).map { Scenario(seed: $0) }
        #expect(scenarios.map(\.steps) == (0..<200 as Range<UInt64>).map { Scenario(seed: $0).steps })
        #expect(scenarios.contains { $0.heard.map(\.signed) != $0.heard.map(\.signed).sorted() })
        #expect(scenarios.contains { $0.heard.count > $0.life.tellings.count })
        #expect(scenarios.contains { $0.isFamily })
    }
}
