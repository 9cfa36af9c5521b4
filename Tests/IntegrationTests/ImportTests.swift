import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Customers who come from another system's records.
@Suite struct ImportTests: ImportSuite {
    let scene: ImportScene

    init() throws {
        scene = try ImportScene()
    }

    @Test func `whole histories come in with their customers, without webhooks, and what Apple sends then is theirs`()
        throws
    {
        defer { stop() }
        let done = try bench.run(file)
        #expect(done.job.state == .done, "\(done.job.error ?? "")")
        #expect(done.counts.numbers == [4, 4, 0, 0, 0, 0], "\(bench.refusedRows)")
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        let connection = try installation.database.connect()
        let customer = try #require(try CustomerTable.load(["user-1"], on: connection)["user-1"])
        #expect(customer.originalAppUserID == "user-1" && customer.appUserIDs.contains("$RCAnonymousID:a1"))
        #expect(customer.firstSeen == Timestamp.parse("2023-01-02T00:00:00Z"))
        #expect(customer.attributes.live["team"]?.value == "t1")
        #expect(try installation.database.count("SELECT count(*) FROM entitled.fact WHERE kind = 1") == 16)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.event") > 0)
        #expect(try installation.database.count("SELECT count(*) FROM entitled.delivery") == 0)
        #expect(try installation.heldReasons() == [])
        try installation.expectNoDifferences()
        // What happens from now on is told.
        var life = lives[1]
        let renewed = life.renew(at: SystemClock().now() + 2 * ImportScene.day)
        #expect(try installation.post(renewed).status == 200)
        let event = try #require(try consumer.wait(1).first)
        #expect(event.type == "RENEWAL" && event.event?["app_user_id"] == .string("user-1"))
        #expect(event.event?["renewal_number"] == .int(5))
        #expect(try owner(of: life) == "user-1")
        try installation.expectNoDifferences()
    }

    @Test func `an attribute that cannot be written keeps no customer out, and is named`() throws {
        defer { stop() }
        let header = "app_user_id,original_transaction_id,attributes.team,attributes.$email,attributes.$onesignalUserId"
        let lines = [header, "user-0,\(lives[0].latest.originalID),t0,no address,os-1"]
        let counted = try bench.count(lines)
        #expect(counted.counts.numbers == [1, 1, 0, 0, 0, 0])
        #expect(counted.reasons.count == 1 && counted.reasons[0].contains("$email"), "\(counted.reasons)")
        let done = try bench.run(lines)
        #expect(done.counts.numbers == [1, 1, 0, 0, 0, 0], "\(bench.refusedRows)")
        #expect(bench.refusedRows.contains("2,imported without attributes that cannot be written: $email"))
        try bench.untilApplied()
        #expect(try owner(of: lives[0]) == "user-0")
        let connection = try installation.database.connect()
        let attributes = try CustomerTable.load(["user-0"], on: connection)["user-0"]?.attributes.live
        #expect(attributes?.mapValues(\.value) == ["team": "t0", "$onesignalUserId": "os-1"])
    }

    @Test func `a file that comes again changes nothing, and asks Apple nothing`() throws {
        defer { stop() }
        _ = try bench.run(file)
        // Also before it is applied.
        #expect(try bench.run(file).counts.numbers == [4, 0, 0, 0, 4, 0])
        try bench.untilApplied()
        let (calls, before) = (bench.apple.calls.count, try tables().dropLast())
        #expect(try bench.run(file).counts.numbers == [4, 0, 0, 0, 4, 0])
        #expect(bench.apple.calls.count == calls)
        #expect(try tables().dropLast() == before)
        try installation.expectNoDifferences()
    }

    @Test func `rows that repeat others come to an end where few are remembered`() throws {
        defer { stop() }
        let rows = file.dropFirst()
        let repeated = (0..<2500).compactMap { rows[rows.startIndex + $0 % rows.count] }
        let done = try bench.run(file + repeated, steps: 20_000, remembered: 1)
        #expect(done.job.state == .done, "\(done.job.error ?? "\(done.counts.numbers)")")
        #expect(done.counts.numbers == [4 + 2500, 4, 0, 0, 2500, 0])
        try installation.expectNoDifferences()
    }

    @Test func `a dry run says what would be, and writes nothing`() throws {
        defer { stop() }
        let before = try tables()
        let count = try bench.count(file + ["user-9,2000000999999999,,,", "null,1,,,"])
        #expect(count.counts.numbers == [6, 4, 1, 1, 0, 0])
        #expect(count.reasons.count == 2)
        #expect(try tables() == before)
        #expect(!FileManager.default.fileExists(atPath: bench.refusedPath))
    }

    @Test func `RevenueCat's export has a row for each period, and rows of other stores`() throws {
        defer { stop() }
        let life = lives[0]
        let header =
            "rc_original_app_user_id;rc_last_seen_app_user_id_alias;store;is_sandbox;store_transaction_id;"
            + "original_store_transaction_id"
        let rows = life.periods.map { "$RCAnonymousID:x;user-0;app_store;false;\($0.id);\(life.latest.originalID)" }
        let done = try bench.run([header] + rows + ["user-7;user-7;play_store;false;GPA.1;GPA.1"])
        #expect(done.counts.numbers == [5, 1, 0, 0, 3, 1], "\(bench.refusedRows)")
        try bench.untilApplied()
        #expect(try owner(of: life) == "user-0")
        try installation.expectNoDifferences()
    }

    @Test func `a signed transaction and an id of any period name their purchase`() throws {
        defer { stop() }
        let jws = try Installation.signer.sign(try #require(lives[0].notifications.last?.transaction))
        let done = try bench.run([
            "app_user_id,jws,transaction_id", "user-0,\(jws),", "user-1,,\(lives[1].periods[1].id)",
        ])
        #expect(done.counts.numbers == [2, 2, 0, 0, 0, 0], "\(bench.refusedRows)")
        try bench.untilApplied()
        #expect(try owner(of: lives[0]) == "user-0" && owner(of: lives[1]) == "user-1")
        try installation.expectNoDifferences()
    }

    @Test func `all of it is told where that is asked for`() throws {
        defer { stop() }
        #expect(try bench.run(Array(file.prefix(2)), sendsEvents: true).counts.imported == 1)
        let requests = try consumer.wait(4)
        #expect(requests.map(\.type).filter { $0 == "INITIAL_PURCHASE" }.count == 1)
        #expect(requests.map(\.type).filter { $0 == "RENEWAL" }.count == 3)
        #expect(requests.allSatisfy { $0.event?["app_user_id"] == .string("user-0") })
        try installation.expectNoDifferences()
    }

    @Test func `an import says more than a token, and less than what an app posted`() throws {
        defer { stop() }
        let signed = ImportScene.lives(2, withToken: true)
        let history = try PlayedHistory(installation, signed.flatMap(\.notifications))
        let bench = try ImportFixture(installation, history)
        try installation.postAll(signed.flatMap(\.notifications))
        try bench.untilApplied()
        let posting = try PostingFixture(installation)
        let jws = try Installation.signer.sign(try #require(signed[1].notifications.last?.transaction))
        #expect(posting.post(jws, by: "poster").status == 200)
        let sent = try consumer.wait(1).count
        let done = try bench.run(
            [
                "app_user_id,original_transaction_id", "user-0,\(signed[0].latest.originalID)",
                "user-1,\(signed[1].latest.originalID)",
            ])
        #expect(done.counts.numbers == [2, 1, 0, 1, 0, 0], "\(bench.refusedRows)")
        #expect(bench.refusedRows.contains("is poster's here"))
        try bench.untilApplied()
        #expect(try owner(of: signed[0]) == "user-0" && owner(of: signed[1]) == "poster")
        let transfers = consumer.requests.filter { $0.type == "TRANSFER" }.compactMap { $0.event?["transferred_to"] }
        #expect(!transfers.contains(.strings(["user-0"])))
        #expect(sent > 0)
        try installation.expectNoDifferences()
    }

    @Test(.enabled(if: ReceiptMint.isAvailable, "skipped: no openssl program"))
    func `a receipt brings in every purchase that it names, and one of another app is refused`() throws {
        defer { stop() }
        func receipt(_ bundleID: String) throws -> String {
            let bought = lives.prefix(2).map {
                ReceiptMint.Purchase(
                    id: $0.latest.id, originalID: $0.latest.originalID, purchased: $0.latest.purchased)
            }
            let payload = ReceiptMint.payload(bundleID: bundleID, created: SystemClock().now(), bought)
            return Base64.encode(try ReceiptMint.sign(payload, Installation.keys))
        }
        let roots = TrustAnchors(fingerprints: [try Installation.keys.root.fingerprint()])
        let done = try bench.run(
            [
                "app_user_id,receipt", "user-0,\(try receipt(Installation.app.bundleID))",
                "user-1,\(try receipt("com.example.other"))",
            ], roots: roots)
        #expect(done.counts.numbers == [2, 1, 0, 1, 0, 0], "\(bench.refusedRows)")
        #expect(bench.refusedRows.contains("it is of another app"))
        try bench.untilApplied()
        #expect(try owner(of: lives[0]) == "user-0" && owner(of: lives[1]) == "user-0")
        try installation.expectNoDifferences()
    }
}
