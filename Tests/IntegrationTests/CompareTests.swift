import Base
import Duties
import Foundation
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// RevenueCat's export against the records here.
@Suite struct CompareTests {
    private static let day = StoreProduct.day
    private static let header =
        "rc_original_app_user_id;rc_last_seen_app_user_id_alias;store;is_sandbox;store_transaction_id;"
        + "original_store_transaction_id;start_time;effective_end_time;entitlement_identifiers"

    private let installation: Installation
    private let worker: RunningWorker
    private let lives: [SubscriberLife]
    private let bench: ImportFixture

    /// Three customers of two periods each, the second of which is running; all were imported.
    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        let now = SystemClock().now()
        lives = (0..<UInt64(3)).map { number in
            var life = SubscriberLife(app: Installation.app, seed: 77, number: number)
            _ = life.start(lasts: 5 * Self.day, at: now - 8 * Self.day)
            _ = life.renew(at: now - 3 * Self.day)
            return life
        }
        bench = try ImportFixture(installation, try PlayedHistory(installation, lives.flatMap(\.notifications)))
        let rows = lives.enumerated().map { "user-\($0),\($1.latest.originalID)" }
        _ = try bench.run(["app_user_id,original_transaction_id"] + rows)
        try bench.untilApplied()
    }

    private struct Outcome {
        var count = ComparisonCount()
        var differences: [ExportDifference] = []
        var unreadable: [String] = []
    }

    private var catalogue: EntitlementCatalogue {
        EntitlementCatalogue(["pro": lives.map(\.latest.productID)])
    }

    private func compare(_ lines: [String], tolerance: Int64 = 60_000) throws -> Outcome {
        let comparison = ExportComparison(
            try bench.file(lines), app: "demo", environments: [.production], catalogue: catalogue,
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), tolerance: tolerance)
        var outcome = Outcome()
        outcome.count = try comparison.run(
            on: try installation.database.connect(role: "entitled_api"), progress: { _, _ in },
            unreadable: { outcome.unreadable.append($1) }, found: { outcome.differences += $0 })
        return outcome
    }

    private func text(_ instant: Int64) -> String {
        String(Timestamp.text(instant).prefix(19)).replacing("T", with: " ")
    }

    private func rows(
        _ number: Int, owner: String? = nil, later: Int64 = 0, entitlements: String = #""[""pro""]""#
    ) -> [String] {
        let life = lives[number]
        let id = owner ?? "user-\(number)"
        return life.periods.map { period in
            "$RCAnonymousID:\(id);\(id);app_store;false;\(period.id);\(life.latest.originalID);"
                + "\(text(period.purchased));\(text((period.expires ?? 0) + later));\(entitlements)"
        }
    }

    @Test func `an export of the same customers agrees, whatever else is in it`() throws {
        defer { worker.stop() }
        let foreign = [
            "u;u;play_store;false;GPA.1;GPA.1;2026-01-01 00:00:00;;", "u;u;promotional;false;1;1;2026-01-01 00:00:00;;",
            "u;u;app_store;true;2000000000000001;2000000000000001;2026-01-01 00:00:00;;",
        ]
        let outcome = try compare([Self.header] + (0..<3).flatMap { rows($0) } + foreign)
        #expect(outcome.differences == [] && outcome.unreadable == [])
        #expect(outcome.count.same == 6 && outcome.count.rows == 9 && outcome.count.agrees)
        #expect(outcome.count.otherStores == 2 && outcome.count.otherEnvironments == 1)
    }

    @Test func `each kind of difference is told with both sides`() throws {
        defer { worker.stop() }
        let unknown =
            "user-9;user-9;app_store;false;300000000000009;300000000000009;\(text(SystemClock().now()));;"
        let outcome = try compare(
            [Self.header] + rows(0, owner: "stranger") + rows(1, later: 3_600_000)
                + rows(1, entitlements: #""[""basic"",""pro""]""#) + [unknown, "u;u;app_store;maybe;1;1;;;", "short"])
        #expect(
            outcome.count.differences == [
                .otherOwner: 2, .otherEnd: 1, .otherEntitlements: 2, .missingHere: 1, .missingThere: 1,
            ])
        #expect(outcome.count.unreadable == 2 && outcome.count.differing == 6 && outcome.count.same == 1)
        func first(_ cause: ComparisonCause) throws -> ExportDifference {
            try #require(outcome.differences.first { $0.cause == cause })
        }
        let owner = try first(.otherOwner)
        #expect(owner.line == 2 && owner.there == "stranger, $RCAnonymousID:stranger" && owner.here == "user-0")
        let end = try first(.otherEnd)
        #expect(end.transactionID == lives[1].latest.id && end.there != end.here && end.line == 5)
        let entitlements = try first(.otherEntitlements)
        #expect(entitlements.there == "basic, pro" && entitlements.here == "pro")
        #expect(try first(.missingHere).transactionID == "300000000000009")
        let missing = try first(.missingThere)
        #expect(missing.transactionID == lives[2].latest.id && missing.line == nil && missing.appUserID == "user-2")
        #expect(outcome.unreadable.first?.contains("is_sandbox: 'maybe'") ?? false)
    }

    @Test func `ends within the tolerance are one`() throws {
        defer { worker.stop() }
        let lines = [Self.header] + rows(0, later: 3_600_000) + rows(1) + rows(2)
        #expect(try compare(lines, tolerance: 3_600_000).count.agrees)
        #expect(try compare(lines, tolerance: 3_598_000).count.differences == [.otherEnd: 1])
    }

    @Test func `a purchase that is newer than the file is no difference`() throws {
        defer { worker.stop() }
        // The file ends before the renewals.
        let lines = [Self.header] + (0..<3).map { rows($0)[0] }
        let outcome = try compare(lines)
        #expect(outcome.count.newerHere == 3 && outcome.differences == [])
    }

    @Test func `a table of one's own is compared by owners`() throws {
        defer { worker.stop() }
        let ids = lives.map(\.latest.originalID)
        let outcome = try compare([
            "app_user_id,original_transaction_id", "user-0,\(ids[0])", "other,\(ids[1])", "user-2,\(ids[2])",
        ])
        #expect(outcome.count.differences == [.otherOwner: 1] && outcome.count.same == 2)
    }
}
