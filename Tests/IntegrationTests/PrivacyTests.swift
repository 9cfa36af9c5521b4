import AppStore
import Base
import Customers
import Database
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@Suite struct PrivacyTests {
    @Test func `every table is known to hold something personal, or not to`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        #expect(Set(try DatabaseScan(database).tables()) == Set(PersonalDataMap.all.keys))
        for (table, column, _) in PersonalDataMap.ofCustomers {
            _ = try database.count("SELECT count(*) FROM entitled.\(table) WHERE \(column) = 'x'")
        }
        for (table, _) in PersonalDataMap.ofPurchases {
            _ = try database.count(
                """
                SELECT count(*) FROM entitled.\(table)
                WHERE lane = 1 AND original_transaction_id = 'x' AND app = 'x' AND environment = 0
                """)
        }
    }

    // MARK: - Export

    @Test func `an export has everything that was planted, and what Apple signed verifies`() throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        let export = try #require(try scene.export(scene.first.latest.originalID))
        #expect(export["format"] == .string("entitled.customer-export"))
        #expect(export["version"] == .int(1))
        let ids = export["app_user_ids"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
        #expect(Set(ids) == Set(scene.needles))
        let kinds = export["actions"]?.arrayValue?.compactMap { $0["kind"]?.stringValue } ?? []
        #expect(kinds == ["alias", "alias", "alias", "transfer", "transfer"])
        #expect(export["transfers"]?.arrayValue?.count == 2)
        let purchases = export["purchases"]?.arrayValue ?? []
        #expect(
            Set(purchases.compactMap { $0["original_transaction_id"]?.stringValue })
                == Set([scene.first, scene.second, scene.given].map(\.latest.originalID)))
        let first = try #require(
            purchases.first { $0["original_transaction_id"]?.stringValue == scene.first.latest.originalID })
        #expect(first["record"]?["owner"] == .string(PlantedCustomer.token))
        #expect(first["account_looks"]?.arrayValue?.count == 1)
        #expect(first["refund_requests"]?.arrayValue?.count == 1 && first["status_looks"]?.arrayValue?.count == 1)
        #expect(first["notifications"]?.arrayValue?.compactMap { $0["state"]?.stringValue } == ["applied", "held"])
        #expect(
            first["notifications"]?.arrayValue?.allSatisfy {
                $0["payload"]?["data"]?["signedTransactionInfo"]?["appAccountToken"] == .string(PlantedCustomer.token)
            } == true)
        let attempts = (first["events"]?.arrayValue ?? []).flatMap { $0["deliveries"]?.arrayValue ?? [] }
            .flatMap { $0["attempts"]?.arrayValue ?? [] }
        #expect(attempts.contains { $0["head"]?.stringValue?.contains(PlantedCustomer.token) ?? false })
        for document in (first["facts"]?.arrayValue ?? []) + (first["notifications"]?.arrayValue ?? []) {
            guard let signed = document["signed"]?.stringValue else { continue }
            _ = try scene.installation.verifier.verify(Array(signed.utf8)).get()
        }
        #expect((first["facts"]?.arrayValue ?? []).count { $0["signed"]?.stringValue != nil } == 3)
    }

    @Test func `who is not known has no export`() throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        #expect(try scene.export("nobody-at-all") == nil)
    }

    // MARK: - Deletion

    @Test(arguments: DeletionPolicy.allCases)
    func `after a deletion nothing that is stored names the person, and records follow from the log`(
        _ policy: DeletionPolicy
    ) throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        let scan = DatabaseScan(scene.installation.database)
        // Otherwise the scan would prove nothing.
        #expect(
            Set(try scan.places(of: scene.needles).keys).isSuperset(of: [
                "action", "app_user_id", "attempt", "customer", "event", "fact", "notification", "purchase", "rebuild",
            ]))
        #expect(
            Set(try scan.places(of: [scene.first.latest.originalID]).keys).isSuperset(of: [
                "report_entitlement", "report_purchase", "report_transaction",
            ]))
        let record = try #require(try scene.delete(policy))
        #expect(record.state == .done && record.names == nil && record.ids == 4)
        #expect(record.counts["purchase"] == 3)
        #expect(try scan.places(of: scene.needles) == [:])
        try scene.installation.expectNoDifferences()
        #expect(try scene.export(PlantedCustomer.name) == nil)
        // Somebody else's purchase stays theirs.
        #expect(try scene.owner(scene.lost) == PlantedCustomer.winner)
        let names = try DeletionTable.list(naming: PlantedCustomer.name.uppercased(), atMost: 9, on: scene.connection)
        #expect(names.map(\.id) == [record.id])
        #expect(try DeletionTable.list(naming: "nobody", atMost: 9, on: scene.connection).isEmpty)
        let theirs = [scene.first, scene.second, scene.given].map(\.latest.originalID)
        if policy == .erase {
            #expect(try scan.places(of: theirs) == [:])
            #expect(try scene.owner(scene.first) == nil)
        } else {
            #expect(try scene.installation.database.count("SELECT count(*) FROM entitled.purchase") == 4)
            // What is not sent yet goes out with the pseudonym of the purchase.
            let owner = try #require(try scene.owner(scene.first))
            let export = try #require(try scene.export(scene.first.latest.originalID))
            let event = export["purchases"]?.arrayValue?.first?["events"]?.arrayValue?.first?["body"]?["event"]
            #expect(event?["app_user_id"] == .string(owner) && event?["aliases"] == .strings([owner]))
        }
    }

    @Test(arguments: DeletionPolicy.allCases)
    func `what Apple sends later is of an anonymous owner, and brings no name back`(_ policy: DeletionPolicy) throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        let scan = DatabaseScan(scene.installation.database)
        try scene.delete(policy)
        try scene.apply(
            scene.first.renew(at: Installation.start + 30 * StoreProduct.day),
            scene.second.renew(at: Installation.start + 30 * StoreProduct.day).withoutToken)
        #expect(try scan.places(of: scene.needles) == [:])
        for life in [scene.first, scene.second] {
            let owner = try #require(try scene.owner(life))
            #expect(Owner.isAnonymous(owner) && owner != scene.anonymous)
        }
        try scene.installation.expectNoDifferences()
        // Who comes back and buys is a new customer.
        var back = SubscriberLife(app: Installation.app, seed: 4712, number: 9)
        back.account.token = PlantedCustomer.token
        try scene.apply(back.start(at: SystemClock().now() + 1000))
        #expect(try scene.owner(back) == PlantedCustomer.token)
        try scene.installation.expectNoDifferences()
    }

    @Test func `somebody who is deleted twice is found under both deletions`() throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        try scene.delete(.pseudonymise)
        try CustomerTable.make([PlantedCustomer.third], now: 1, on: scene.connection)
        try scene.delete(.erase)
        let found = try DeletionTable.list(naming: PlantedCustomer.third, atMost: 9, on: scene.connection)
        #expect(found.map(\.policy) == [.erase, .pseudonymise])
    }

    @Test func `a purchase that somebody restored before it was erased stays with them`() throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        let deletion = try scene.actions.delete(PlantedCustomer.third, policy: .erase, on: scene.connection)
        let restoring = CustomerActions(
            origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
        _ = try restoring.claim(
            scene.key(scene.first), by: "restorer", settings: RestoreSettings(general: .transfer), on: scene.connection)
        try scene.erasure(deletion.id)
        #expect(try scene.export("restorer")?["purchases"]?.arrayValue?.count == 1)
        #expect(try scene.owner(scene.second) == nil)
        #expect(try DatabaseScan(scene.installation.database).places(of: scene.needles) == [:])
        try scene.installation.expectNoDifferences()
    }

    // MARK: - In between

    @Test func `what a consumer answers to what was on its way is emptied too`() throws {
        let scene = try PlantedCustomer { request, before in
            before < 10 ? .status(500, headers: ["x-echo": PlantedCustomer.name]) : .hold
        }
        defer { scene.end() }
        try scene.apply(scene.first.autoRenewOn(at: Installation.start + 2 * StoreProduct.day))
        let held = try #require(try scene.consumer.wait(11).last)
        #expect(held.event?["app_user_id"] == .string(PlantedCustomer.third))
        let deletion = try scene.actions.delete(PlantedCustomer.third, on: scene.connection)
        try scene.erasure(deletion.id, patience: .seconds(3600))
        #expect(try DeletionTable.find(deletion.id, on: scene.connection)?.state == .settling)
        let database = scene.installation.database
        #expect(try DatabaseScan(database).places(of: scene.needles) == [:])
        scene.consumer.release(500, headers: ["x-echo": PlantedCustomer.name])
        try eventually("the answer is written down") {
            try database.count("SELECT count(*) FROM entitled.attempt WHERE head IS NOT NULL") > 0
        }
        try database.execute("UPDATE entitled.deletion SET settle_ms = 0")
        try scene.erasure(deletion.id)
        #expect(try DeletionTable.find(deletion.id, on: scene.connection)?.state == .done)
        #expect(try DatabaseScan(database).places(of: scene.needles) == [:])
    }

    /// The notification is stored before the deletion and applied after it, or stands still in the middle of being applied.
    @Test(arguments: DeletionPolicy.allCases)
    func `a notification that is applied beside a deletion brings no name back`(_ policy: DeletionPolicy) throws {
        let scene = try PlantedCustomer()
        defer { scene.end() }
        let database = scene.installation.database
        for round in Int64(2)...6 {
            let at = Installation.start + round * StoreProduct.day
            let waiting = round % 2 == 0 ? scene.first.autoRenewOn(at: at) : scene.first.autoRenewOff(at: at)
            try scene.installation.postAll([waiting])
            if round == 4 { try scene.delete(policy) }
        }
        try eventually("everything is applied") {
            try database.count("SELECT count(*) FROM entitled.pending") == 0
        }
        let places = try DatabaseScan(database).places(of: scene.needles)
        #expect(places == [:])
        try scene.installation.expectNoDifferences()
        let owner = try #require(try scene.owner(scene.first))
        #expect(Owner.isAnonymous(owner) && owner != scene.anonymous)
    }

    @Test func `a erasure that is cut off anywhere goes on, and counts nothing twice`() throws {
        let (calm, broken) = (try PlantedCustomer(), try PlantedCustomer())
        defer {
            calm.end()
            broken.end()
        }
        let whole = try #require(try calm.delete(.pseudonymise))
        let deletion = try broken.actions.delete(PlantedCustomer.third, on: broken.connection)
        var steps = 0
        // Each step by another connection, half of them cut off in the middle by a lock that is not given.
        while true {
            let database = broken.installation.database
            let blocker = try database.connect()
            let number = try blocker.query("SELECT pg_backend_pid()").one().int(0)
            try blocker.transaction {
                _ = try blocker.query("SELECT 1 FROM entitled.deletion FOR UPDATE")
                let victim = TestThread {
                    let connection = try database.connect(role: "entitled_worker")
                    return try CustomerErasure(
                        foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), patience: .zero
                    ).step(
                        deletion.id, on: connection)
                }
                // Nobody else waits for this row.
                try eventually("the erasure waits, and is cut off") {
                    try database.count(
                        """
                        SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                        WHERE $1 = ANY(pg_blocking_pids(pid))
                        """, [.int4(Int32(clamping: number))]) > 0
                }
                #expect(throws: (any Error).self) { _ = try victim.value() }
            }
            let step = try CustomerErasure(
                foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), patience: .zero
            ).step(
                deletion.id, on: try database.connect(role: "entitled_worker"))
            steps += 1
            // What is left is the end, which changes no counts of ours.
            if try database.count("SELECT count(*) FROM entitled.deletion_purchase") == 0 { break }
            #expect(step == .more)
        }
        try broken.erasure(deletion.id)
        #expect(steps == 5)
        let record = try #require(try DeletionTable.find(deletion.id, on: broken.connection))
        #expect(record.counts == whole.counts)
        #expect(try DatabaseScan(broken.installation.database).places(of: broken.needles) == [:])
        try broken.installation.expectNoDifferences()
    }

    @Test func `two who erasure the same deletion at once do nothing twice`() throws {
        let (calm, shared) = (try PlantedCustomer(), try PlantedCustomer())
        defer {
            calm.end()
            shared.end()
        }
        let whole = try #require(try calm.delete(.erase))
        let deletion = try shared.actions.delete(PlantedCustomer.third, policy: .erase, on: shared.connection)
        let database = shared.installation.database
        let threads = (0..<4).map { _ in
            TestThread {
                let connection = try database.connect(role: "entitled_worker")
                let erasure = CustomerErasure(
                    foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)), patience: .zero)
                while try erasure.step(deletion.id, on: connection) == .more {}
            }
        }
        for thread in threads { try thread.value() }
        #expect(try DeletionTable.find(deletion.id, on: shared.connection)?.counts == whole.counts)
        #expect(try DatabaseScan(database).places(of: shared.needles) == [:])
    }
}
