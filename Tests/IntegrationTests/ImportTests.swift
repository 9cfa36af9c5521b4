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
@Suite struct ImportTests {
    private static let day = StoreProduct.day
    private static let header = "app_user_id,original_transaction_id,aliases,first_seen,attributes.team"

    /// Subscribers of four periods, the last of which is running.
    private static func lives(_ count: UInt64, withToken: Bool = false) -> [SubscriberLife] {
        let now = SystemClock().now()
        return (0..<count).map { number in
            var life = SubscriberLife(app: Installation.app, seed: 1300, number: number, withToken: withToken)
            _ = life.start(lasts: 5 * day, at: now - 18 * day)
            for period: Int64 in 1...3 { _ = life.renew(at: now - (18 - 5 * period) * day) }
            return life
        }
    }

    private let installation: Installation
    private let worker: RunningWorker
    private let consumer: Consumer
    private let lives: [SubscriberLife]
    private let bench: ImportFixture

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        lives = Self.lives(4)
        bench = try ImportFixture(
            installation, try PlayedHistory(installation, lives.flatMap(\.notifications)))
    }

    private func stop() {
        worker.stop()
        consumer.stop()
    }

    private var file: [String] {
        [Self.header]
            + lives.enumerated().map { number, life in
                "user-\(number),\(life.latest.originalID),\"$RCAnonymousID:a\(number)\",2023-01-0\(number + 1),t\(number)"
            }
    }

    private func owner(of life: SubscriberLife) throws -> String? {
        try installation.database.texts(
            "SELECT owner FROM entitled.purchase WHERE original_transaction_id = '\(life.latest.originalID)'"
        ).first
    }

    private func tables() throws -> [Int64] {
        try ["action", "fact", "notification", "customer", "customer_attribute", "job"].map {
            try installation.database.count("SELECT count(*) FROM entitled.\($0)")
        }
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
        let renewed = life.renew(at: SystemClock().now() + 2 * Self.day)
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

    /// The first step reads the job, each further one commits at least a row.
    @Test(arguments: [2, 3, 5]) func `an import that ended anywhere goes on there`(steps: Int) throws {
        defer { stop() }
        let lines = file + ["user-9,2000000999999999,,,"]
        var job = try bench.run(lines, steps: steps).job
        #expect(job.state == .running)
        var runs = 1
        while job.state == .running, runs < 20 {
            job = try bench.run(lines, steps: steps).job
            runs += 1
        }
        #expect(job.state == .done && runs > 1)
        #expect(ImportProgress(words: job.cursor)?.numbers == [5, 4, 1, 0, 0, 0])
        #expect(try installation.database.count("SELECT count(*) FROM entitled.job") == 1)
        #expect(bench.refusedRows.split(separator: "\r\n").count == 2)
        try bench.untilApplied()
        try installation.expectNoDifferences()
    }

    @Test func `rows that need a person are in a file that only its owner reads`() throws {
        defer { stop() }
        let now = SystemClock().now()
        var stranger = SubscriberLife(app: StoreApp(bundleID: "com.example.other", environment: "Production"), seed: 8)
        let foreign = try PostingFixture.jws(stranger.start(at: now))
        let header = "app_user_id,original_transaction_id,jws,receipt"
        let id = lives[0].latest.originalID
        let lines = [
            header, "user-0,\(id),,", "user-1,\(id),,", "user-2,,\(foreign),", "user-3,,a.b.c,", "user-4,,,bm9uZQ==",
            "user-5,2000000999999999,,", "=cmd(),\(id),,", "user-6,\"un\"quoted\",,", "user-0,\(id),,",
        ]
        let done = try bench.run(lines)
        #expect(done.job.state == .done)
        #expect(done.counts.numbers == [9, 1, 1, 6, 1, 0], "\(bench.refusedRows)")
        let rows = bench.refusedRows
        for part in [
            "line,reason,\(header)", "is user-0's here", "jws: ", "receipt: ", "Apple does not know the transaction",
            "formula",
            "'=cmd()", "behind the closing",
        ] { #expect(rows.contains(part), "\(part) in \(rows)") }
        let mode = try FileManager.default.attributesOfItem(atPath: bench.refusedPath)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try bench.untilApplied()
        #expect(try owner(of: lives[0]) == "user-0")
        #expect(
            try installation.database.texts("SELECT id FROM entitled.app_user_id WHERE id LIKE 'user-%'") == ["user-0"])
        try installation.expectNoDifferences()
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

    @Test func `an Apple that turns away, fails and is slow loses nothing`() throws {
        defer { stop() }
        let history = try PlayedHistory(
            installation, lives.flatMap(\.notifications),
            faults: [
                StoreFault(.rateLimited, percent: 20, seconds: 0.05), StoreFault(.error, percent: 25),
                StoreFault(.slow, percent: 10, seconds: 0.3), StoreFault(.reset, percent: 10),
            ])
        let bench = try ImportFixture(installation, history)
        #expect(try bench.run(file).counts.numbers == [4, 4, 0, 0, 0, 0], "\(bench.refusedRows)")
        #expect(history.calls.contains { $0 != 200 })
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }

    /// What Apple does, and what of the reason a person reads.
    private static let outages: [(StoreFault, String)] = [
        // It never answers.
        (StoreFault(.slow, seconds: 600), "timed out"), (StoreFault(.error), "5000001"),
        (StoreFault(.outage, seconds: 600), "503"), (StoreFault(.rateLimited, seconds: 4), "rate"),
        (StoreFault(.badGateway), "502"), (StoreFault(.reset), "cannot be reached"), (StoreFault(.garbage), ""),
    ]

    /// The import waits in a process of its own; what the workers do goes on meanwhile.
    @Test(arguments: outages)
    func `an Apple that does not come back ends the import with the reason, holds up nothing, and loses nothing`(
        fault: StoreFault, part: String
    ) throws {
        defer { stop() }
        let history = try PlayedHistory(installation, lives.flatMap(\.notifications))
        let bench = try ImportFixture(installation, history)
        let lines = file + ["null,1,,,"]
        // One row is in before Apple is away.
        let begun = try bench.run(lines, steps: 3)
        #expect(begun.job.state == .running && begun.counts.imported >= 1)
        history.add(fault)
        let failed = Monitor<(job: Job, counts: ImportProgress)?>(nil)
        let importing = ServiceThread("import") {
            let result = try? bench.run(lines, requestTime: .milliseconds(700), patience: .seconds(2))
            failed.change { $0 = result }
        }
        // What Apple sends meanwhile is applied, and told.
        var other = SubscriberLife(app: Installation.app, seed: 1400)
        #expect(try installation.post(other.start(at: SystemClock().now())).status == 200)
        let event = try #require(try consumer.wait(1, timeout: .seconds(10)).first)
        #expect(event.type == "INITIAL_PURCHASE")
        #expect(failed.read { $0 == nil } || fault.kind == .garbage, "the import was over before")
        #expect(importing.join(timeout: .seconds(60)))
        let outcome = try #require(failed.read { $0 })
        if fault.kind == .garbage {
            // An answer that is none says nothing about other rows.
            #expect(outcome.job.state == .done && outcome.counts.refused > 1, "\(outcome.counts.numbers)")
            return
        }
        #expect(outcome.job.state == .failed && outcome.counts.refused == 0 && outcome.counts.unknown == 0)
        #expect(outcome.job.error?.contains(part) ?? false, "\(outcome.job.error ?? "no reason")")
        #expect(outcome.counts.rows == begun.counts.rows)
        history.clearFaults()
        let done = try bench.run(lines)
        #expect(done.job.id == begun.job.id && done.job.state == .done)
        #expect(done.counts.numbers == [5, 4, 0, 1, 0, 0], "\(bench.refusedRows)")
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }

    @Test func `a key that Apple refuses ends the job, and the next run goes on`() throws {
        defer { stop() }
        let history = try PlayedHistory(
            installation, lives.flatMap(\.notifications), faults: [StoreFault(.unauthorized)])
        let bench = try ImportFixture(installation, history)
        let failed = try bench.run(file)
        #expect(failed.job.state == .failed && failed.counts.rows == 0)
        history.clearFaults()
        let done = try bench.run(file)
        #expect(done.job.id == failed.job.id && done.counts.numbers == [4, 4, 0, 0, 0, 0])
    }

    @Test func `an import says more than a token, and less than what an app posted`() throws {
        defer { stop() }
        let signed = Self.lives(2, withToken: true)
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

    @Test func `a file that gzip packed is imported as it is, and goes on packed or not`() throws {
        defer { stop() }
        let lines = file + ["null,1,,,", "user-9,2000000999999999,,,"]
        let begun = try bench.run(lines, steps: 3, isPacked: true)
        #expect(begun.job.state == .running && begun.counts.rows >= 1 && begun.job.fraction > 0)
        let further = try bench.run(lines, steps: 2)
        #expect(further.job.id == begun.job.id && further.counts.rows > begun.counts.rows)
        let done = try bench.run(lines, isPacked: true)
        #expect(done.job.id == begun.job.id && done.job.state == .done && done.job.fraction == 1)
        #expect(done.counts.numbers == [6, 4, 1, 1, 0, 0], "\(bench.refusedRows)")
        #expect(bench.refusedRows.contains("\r\n6,") && bench.refusedRows.contains("\r\n7,"))
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }

    // MARK: - Beside others

    @Test func `imports of one app have one share of Apple's limit, and less while accounts wait`() throws {
        defer { stop() }
        let client = bench.apple.reader.client
        let connection = try installation.database.connect(role: "entitled_worker")
        func other(_ app: String) throws {
            let request = ImportRequest(
                app: app, digest: "other", path: "/other.csv", asOf: 0, sendsEvents: false, refusedRows: "/other")
            let job = try JobTable.open(request.request(rate: nil, madeBy: "a test"), on: connection).job
            _ = try #require(try JobLease.take(job.id, driver: [UInt8](repeating: 7, count: 16), on: connection))
        }
        _ = try bench.run(file, steps: 3)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: false))
        _ = try bench.count(file)
        #expect(client.share(in: .production) == .imports(count: 0, accountsWait: false))
        try other("another")
        _ = try bench.run(file, steps: 2)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: false))
        try other("demo")
        #expect(try ImportShare.running("demo", on: connection).count == 1)
        _ = try bench.run(file, steps: 2)
        #expect(client.share(in: .production) == .imports(count: 2, accountsWait: false))
        // A dry run takes what is left beside it.
        _ = try bench.count(file)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: true))
        // While this worker has no way to Apple.
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000000000000001")
        let subject = AccountLookTable.Subject(key: key, transactionID: "2000000000000001", account: nil)
        try AccountLookTable.setDue(
            subject, AccountLookTable.Progress(revision: nil, others: []), .restore, now: 1, on: connection)
        _ = try bench.run(file)
        #expect(client.share(in: .production) == .imports(count: 2, accountsWait: true))
    }

    // MARK: - The file of refused rows

    private var rejecting: [String] {
        ["app_user_id,original_transaction_id", "null,1", "user-0,\(lives[0].latest.originalID)", "null,2"]
    }

    private func write(_ text: String) throws {
        try text.write(toFile: bench.refusedPath, atomically: false, encoding: .utf8)
    }

    @Test func `a file that the import did not write is left alone, and nothing begins`() throws {
        defer { stop() }
        let former = "line,reason,app_user_id,original_transaction_id\r\n9,of another import,x,1\r\n"
        for foreign in [former, "a,b\r\n", ""] {
            try write(foreign)
            #expect {
                try bench.run(rejecting)
            } throws: {
                "\($0)".contains("a file that this import did not write is there")
            }
            #expect(bench.refusedRows == foreign)
            #expect(try installation.database.count("SELECT count(*) FROM entitled.job") == 0)
        }
        try FileManager.default.removeItem(atPath: bench.refusedPath)
        #expect(try bench.run(rejecting).counts.numbers == [3, 1, 0, 2, 0, 0])
    }

    @Test func `a file that comes in the way of an import stops it, and nothing of either is lost`() throws {
        defer { stop() }
        let begun = try bench.run(rejecting, steps: 2)
        #expect(begun.job.state == .running && begun.counts.refused == 1)
        let first = bench.refusedRows
        try write("minutes of a meeting\n")
        #expect {
            try bench.run(rejecting)
        } throws: {
            "\($0)".contains("did not write")
        }
        #expect(bench.refusedRows == "minutes of a meeting\n")
        try write(first)
        let done = try bench.run(rejecting)
        #expect(done.job.id == begun.job.id && done.counts.numbers == [3, 1, 0, 2, 0, 0])
        #expect(bench.refusedRows.hasPrefix(first) && bench.refusedRows.contains("\r\n4,"))
    }

    @Test func `the same file again writes its refused rows anew, unless a person worked on them`() throws {
        defer { stop() }
        #expect(try bench.run(rejecting).counts.refused == 2)
        let rows = bench.refusedRows
        let again = try bench.run(rejecting)
        #expect(again.counts.numbers == [3, 0, 0, 2, 1, 0] && bench.refusedRows == rows)
        try write(rows + "checked by Anna\r\n")
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == rows + "checked by Anna\r\n")
        // Also where as much is in the file as before.
        let worked = rows.replacing("null", with: "anna")
        try write(worked)
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == worked && worked != rows)
        try write(rows)
        #expect(try bench.run(rejecting).job.state == .done && bench.refusedRows == rows)
    }

    @Test func `what a person did to the rows of an import that goes on stops it, and stays`() throws {
        defer { stop() }
        let begun = try bench.run(rejecting, steps: 2)
        #expect(begun.job.state == .running && begun.counts.refused == 1)
        let first = bench.refusedRows
        let worked = first.replacing("null", with: "anna")
        try write(worked)
        #expect(throws: RefusedRowsFile.Failure.self) { try bench.run(rejecting) }
        #expect(bench.refusedRows == worked && worked != first)
        // Behind them, it is seen when the next row is written.
        try write(first + "2,checked by Anna,null,1\r\n")
        let stopped = try bench.run(rejecting)
        #expect(stopped.job.state == .failed && stopped.job.error?.contains("a person") ?? false)
        #expect(bench.refusedRows == first + "2,checked by Anna,null,1\r\n")
        try write(first)
        let done = try bench.run(rejecting)
        #expect(done.job.id == begun.job.id && done.counts.numbers == [3, 1, 0, 2, 0, 0])
        #expect(bench.refusedRows.hasPrefix(first) && bench.refusedRows.contains("\r\n4,"))
    }

    @Test func `refused rows of an earlier run are there still, and a file that was taken away begins anew`() throws {
        defer { stop() }
        let lines = ["app_user_id,original_transaction_id", "null,1", "user-0,\(lives[0].latest.originalID)", "null,2"]
        _ = try bench.run(lines, steps: 2)
        let first = bench.refusedRows
        #expect(first.contains("line,reason") && first.contains("\r\n2,"))
        try FileManager.default.removeItem(atPath: bench.refusedPath)
        #expect(try bench.run(lines).counts.numbers == [3, 1, 0, 2, 0, 0])
        let rows = bench.refusedRows
        #expect(rows.hasPrefix("line,reason") && rows.contains("\r\n4,") && !rows.contains("\0"))
    }
}
