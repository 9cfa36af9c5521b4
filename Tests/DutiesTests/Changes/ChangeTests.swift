import Base
import Customers
import Daemon
import Database
import Duties
import Postgres
import Subscriptions
import TestSupport
import Testing

@Suite struct ChangeTests {
    private let bench: ChangeFixture

    init() throws {
        bench = try ChangeFixture()
    }

    // MARK: - Asking

    @Test func `the same key asks once, and for nothing else`() throws {
        let console = try bench.console()
        let id = try bench.ask(ChangeFixture.grant())
        #expect(try ChangeTable.ask(ChangeFixture.grant(), on: console) == .repeated(id))
        #expect(try ChangeTable.ask(ChangeFixture.grant(reason: "another"), on: console) == .mismatch)
        let worker = try bench.worker()
        #expect(try bench.work.next(on: worker)?.job == id)
        #expect(try bench.work.next(on: worker) == nil)
        #expect(try ChangeTable.ask(ChangeFixture.grant(), on: console) == .repeated(id))
        #expect(try bench.grants() == 1)
        // The key is that of one operator, for a day.
        try bench.ask(ChangeFixture.grant(as: "operator"))
        try bench.database.execute(
            "UPDATE entitled.job SET created_ms = created_ms - 86400001 WHERE id = $1", [.int8(id)])
        #expect(try ChangeTable.ask(ChangeFixture.grant(), on: console) == .repeated(id))
        try bench.database.execute(
            "UPDATE entitled.job SET finished_ms = finished_ms - 86400001 WHERE id = $1", [.int8(id)])
        #expect(try bench.ask(ChangeFixture.grant()) > id)
    }

    @Test func `two requests under one key at once are one change`() throws {
        let bench = bench
        let threads = (0..<8).map { _ in
            TestThread { try ChangeTable.ask(ChangeFixture.grant(), on: bench.console()) }
        }
        let answers = try threads.map { try $0.value() }
        let new = answers.filter { if case .asked = $0 { true } else { false } }
        #expect(new.count == 1, "\(answers)")
        #expect(!answers.contains(.mismatch))
        #expect(try bench.database.count("SELECT count(*) FROM entitled.job") == 1)
    }

    // MARK: - Doing

    @Test func `a grant is active, and the log and the audit name the operator`() throws {
        let id = try bench.ask(ChangeFixture.grant())
        let ended = try #require(try bench.work.next(on: bench.worker()))
        guard case .done(let document) = ended.ending else { throw TestFailure("\(ended.ending)") }
        #expect(document["changed"]?.boolValue == true)
        #expect(document["events"]?.arrayValue?.count == 1)
        let change = try bench.change(id)
        #expect(change.state == .done)
        #expect(change.outcome == document.text)
        #expect(try bench.audit() == ["support grant anna done \(id)"])
        #expect(
            try bench.database.texts("SELECT concat_ws(' ', actor, reason) FROM entitled.action") == [
                "support ticket 77"
            ])
        let held = try bench.database.texts(
            "SELECT concat_ws(' ', credential, address, user_agent, reason) FROM entitled.audit")
        #expect(held == ["session cs_1 203.0.113.7 test ticket 77"])
        let revoke = ChangeFixture.request(
            .revoke, "anna", .object(["entitlement": .string("pro")]), as: "support", key: "k2")
        guard case .done(let revoked)? = try bench.ending(of: revoke) else { throw TestFailure("not revoked") }
        #expect(revoked["revoked"]?.arrayValue?.count == 1)
    }

    @Test func `workers that look at once do each change once`() throws {
        let bench = bench
        for number in 0..<24 {
            try bench.addCustomer("customer-\(number)")
            try bench.ask(ChangeFixture.grant(to: "customer-\(number)", key: "k\(number)"))
        }
        let threads = (0..<4).map { _ in
            TestThread {
                let worker = try bench.worker()
                var done: [Int64] = []
                while true {
                    do {
                        guard let ended = try bench.work.next(on: worker) else { return done }
                        done.append(ended.job)
                    } catch let error as PostgresError where error.sqlstate == "40P01" {}
                }
            }
        }
        let done = try threads.flatMap { try $0.value(timeout: .seconds(60)) }
        #expect(done.sorted() == Array(Set(done)).sorted())
        #expect(done.count == 24)
        #expect(try bench.grants() == 24)
        #expect(try bench.audit().filter { $0.contains(" done ") }.count == 24)
    }

    @Test func `endpoints are disabled, enabled and paused`() throws {
        func state() throws -> [String] {
            try bench.database.texts(
                "SELECT concat_ws(' ', coalesce(disabled_reason, '-'), paused_until_ms) FROM entitled.endpoint")
        }
        let (endpoint, until) = ("ep_1", JSON.object(["until": .int(9_000_000_000_000)]))
        func ask(_ kind: ChangeKind, _ key: String, _ parameters: JSON = .object([:])) throws -> ChangeEnding? {
            try bench.ending(
                of: ChangeFixture.request(kind, endpoint, parameters, as: "integrator", key: key))
        }
        let done = ChangeEnding.done(.object(["endpoint": .string(endpoint)]))
        #expect(try ask(.endpointDisable, "1") == done)
        #expect(try state() == ["by an operator 0"])
        #expect(try ask(.endpointEnable, "2") == done)
        #expect(try state() == ["- 0"])
        #expect(try ask(.endpointPause, "3", until) == done)
        #expect(try state() == ["- 9000000000000"])
        #expect(try ask(.endpointPause, "4")?.outcome == .refused)
    }

    @Test func `what names nothing is refused with a sentence, and changes nothing`() throws {
        let target = "app_environment"
        let place = JSON.object(["app": .string("demo"), "environment": .string("Production")])
        let requests = [
            ChangeFixture.grant(to: "typo", as: "operator", key: "1"),
            ChangeFixture.request(.grant, "anna", .object(["entitlement": .string("gold")]), key: "2"),
            ChangeFixture.request(.grant, "anna", .object(["entitlement": .string("pro")]), key: "3"),
            ChangeFixture.request(
                .grant, "anna", .object(["entitlement": .string("pro"), "until": .int(1)]), key: "4"),
            ChangeFixture.request(.revoke, "typo", .object(["entitlement": .string("pro")]), key: "5"),
            ChangeFixture.request(.resend, "dlv_none", key: "6"),
            ChangeFixture.request(.reprocess, "002e14d5-51f5-4503-b5a8-c3a1af68eb20", place, key: "7"),
            ChangeFixture.request(.reprocess, target, key: "8"),
            ChangeFixture.request(.endpointDisable, "ep_none", key: "9"),
            ChangeFixture.request(.endpointPause, "ep_none", .object(["until": .int(1)]), key: "10"),
        ]
        for request in requests {
            let ending = try bench.ending(of: request)
            #expect(ending?.outcome == .refused, "\(request)")
            #expect(ending?.message?.hasSuffix(".") == true)
        }
        #expect(try bench.grants() == 0)
        #expect(try bench.database.count("SELECT count(*) FROM entitled.customer") == 1)
        #expect(try bench.audit().filter { $0.contains(" refused ") }.count == requests.count)
    }

    // MARK: - Roles

    @Test(arguments: OperatorRole.allCases)
    func `a role does what it may, and nothing else`(role: OperatorRole) throws {
        let may: [OperatorRole: Set<ChangeKind>] = [
            .support: [.grant, .revoke, .resend, .eventResend, .note, .noteRemove, .transfer, .refundAnswer],
            .integrator: [
                .resend, .eventResend, .endpointEnable, .endpointDisable, .endpointPause, .endpointRotateSecret,
                .jobCancel, .endpointAdd, .endpointChange, .endpointRemove, .endpointTest,
            ],
            .operator: Set(ChangeKind.allCases), .finance: [], .read: [],
        ]
        for kind in ChangeKind.allCases where !kind.isBulk && !kind.isOfApple && !kind.isInquiry {
            let ending = try bench.ending(
                of: ChangeFixture.request(kind, "nothing", as: role.rawValue, key: kind.rawValue))
            let isForbidden = ending?.message?.contains("it needs one of") ?? false
            #expect(isForbidden != may[role]?.contains(kind), "\(role) \(kind): \(ending.debugDescription)")
        }
    }

    @Test func `the role counts that the operator has when it is done`() throws {
        let worker = try bench.worker()
        let lowered = try bench.ask(ChangeFixture.grant(key: "1"))
        try bench.database.execute("UPDATE entitled.console_user SET role = 'read' WHERE name = 'support'")
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        #expect(try bench.change(lowered).error?.contains("support, operator") == true)
        try bench.ask(ChangeFixture.grant(as: "operator", key: "2"))
        #expect(try ConsoleUserTable.remove("operator", now: 2, on: worker))
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        #expect(try bench.grants() == 0)
    }

    @Test func `a key counts with its own role, and only while it lasts`() throws {
        let worker = try bench.worker()
        func key(_ role: OperatorRole) throws -> String {
            try #require(try OperatorKeyTable.create(for: "operator", role, until: nil, now: 1, on: worker)).id
        }
        let (whole, lower, revoked) = (try key(.operator), try key(.read), try key(.operator))
        _ = try OperatorKeyTable.revoke(revoked, now: 2, on: worker)
        func outcome(_ key: String) throws -> ChangeEnding.Outcome? {
            try bench.ending(of: ChangeFixture.grant(as: "operator", credential: key, key: key))?.outcome
        }
        #expect(try outcome(lower) == .refused)
        #expect(try outcome(revoked) == .refused)
        #expect(try outcome("opk_of_another") == .refused)
        #expect(try bench.grants() == 0)
        #expect(try outcome(whole) == .done)
    }

    // MARK: - Failures

    @Test func `what fails lets others go first, and is given up after five failures`() throws {
        let worker = try bench.worker()
        let failing = try bench.ask(ChangeFixture.request(.endpointDisable, "ep_1", key: "1"))
        let other = try bench.ask(
            ChangeFixture.request(.revoke, "anna", .object(["entitlement": .string("pro")]), key: "2"))
        try bench.database.execute("REVOKE UPDATE ON entitled.endpoint FROM entitled_worker")
        #expect(try bench.work.next(on: worker) == nil)
        #expect(try bench.work.next(on: worker)?.job == other)
        for failure in 2...5 {
            // It is not due yet.
            #expect(try bench.work.next(on: worker) == nil)
            #expect(
                try bench.database.count("SELECT attempts::int8 FROM entitled.job WHERE id = $1", [.int8(failing)])
                    == Int64(failure - 1))
            try bench.database.execute("UPDATE entitled.job SET updated_ms = 0 WHERE state = 'running'")
            let ended = try bench.work.next(on: worker)
            #expect(ended?.ending.outcome == (failure == 5 ? .failed : nil))
        }
        #expect(try bench.change(failing).error?.contains("failed 5 times") == true)
        #expect(try bench.audit().last == "operator endpoint_disable ep_1 failed \(failing)")
        #expect(
            try bench.database.count("SELECT count(*) FROM entitled.endpoint WHERE disabled_reason IS NOT NULL") == 0)
    }

    @Test func `a change that waits for another transaction holds up no other one, and is no failure`() throws {
        let (holder, worker) = (try bench.worker(), try bench.worker())
        try bench.addCustomer("ben")
        let waiting = try bench.ask(ChangeFixture.grant(key: "1"))
        let other = try bench.ask(ChangeFixture.grant(to: "ben", key: "2"))
        try holder.transaction { () throws -> Void in
            try holder.query("SELECT FROM entitled.customer WHERE original_app_user_id = 'anna' FOR UPDATE")
            #expect(try bench.work.next(on: worker) == nil)
            #expect(try bench.work.next(on: worker)?.job == other)
            #expect(try bench.work.next(on: worker) == nil)
        }
        try bench.database.execute("UPDATE entitled.job SET lease_until = now() WHERE state = 'running'")
        #expect(try bench.work.next(on: worker)?.job == waiting)
        #expect(try bench.database.count("SELECT sum(attempts)::int8 FROM entitled.job") == 0)
    }

    @Test func `a change that waits for another transaction too long is given up, and the next one is done`() throws {
        let (holder, worker) = (try bench.worker(), try bench.worker())
        let waiting = try bench.ask(ChangeFixture.grant(as: "operator", key: "1"))
        let next = try bench.ask(
            ChangeFixture.request(.revoke, "anna", .object(["entitlement": .string("pro")]), key: "2"))
        try holder.transaction { () throws -> Void in
            try holder.query("SELECT FROM entitled.customer WHERE original_app_user_id = 'anna' FOR UPDATE")
            // A worker has not been there for an hour: the time counts from the first try.
            try bench.database.execute("UPDATE entitled.job SET created_ms = created_ms - 3600000, updated_ms = 0")
            #expect(try bench.work.next(on: worker) == nil)
            func age(by interval: String) throws {
                try bench.database.execute(
                    """
                    UPDATE entitled.job SET cursor = ARRAY[(cursor[1]::int8 - 600000)::text],
                        lease_until = now() - interval '\(interval)' WHERE id = $1
                    """, [.int8(waiting)])
            }
            // No worker tried it meanwhile: nothing is known of that time.
            try age(by: "1 hour")
            #expect(try bench.work.next(on: worker) == nil)
            try age(by: "0 s")
            let ended = try #require(try bench.work.next(on: worker))
            #expect(ended.job == waiting && ended.ending.outcome == .failed)
        }
        #expect(try bench.change(waiting).error?.contains("for 10 minutes") == true)
        #expect(try bench.audit() == ["operator grant anna failed \(waiting)"])
        #expect(try bench.grants() == 0)
        #expect(try bench.work.next(on: worker)?.job == next)
    }

    @Test func `a change waits for older ones of the same thing, not of another with its name`() throws {
        let worker = try bench.worker()
        try bench.ask(ChangeFixture.grant(to: "ep_1", key: "1"))
        try bench.ask(ChangeFixture.request(.resend, "ep_1", key: "2"))
        // Of a program that is newer than this one.
        try bench.database.execute(
            "UPDATE entitled.job SET kind = 'rename' WHERE idempotency_key = '2'")
        try bench.database.execute(
            "UPDATE entitled.job SET lease_until = now() + interval '1 hour' WHERE kind = 'grant'")
        let disabling = try bench.ask(ChangeFixture.request(.endpointDisable, "ep_1", key: "3"))
        let enabling = try bench.ask(ChangeFixture.request(.endpointEnable, "ep_1", key: "4"))
        #expect(try bench.work.next(on: worker)?.job == disabling)
        #expect(try bench.work.next(on: worker)?.job == enabling)
        #expect(try bench.work.next(on: worker) == nil)
    }

    @Test func `changes of one target are done in their order`() throws {
        let (holder, worker) = (try bench.worker(), try bench.worker())
        let revoke = JSON.object(["entitlement": .string("pro")])
        let first = try bench.ask(ChangeFixture.grant(as: "operator", key: "1"))
        let second = try bench.ask(ChangeFixture.request(.revoke, "anna", revoke, key: "2"))
        // Another worker is at the first one.
        try holder.transaction { () throws -> Void in
            #expect(try ChangeTable.take(on: holder)?.id == first)
            #expect(try bench.work.next(on: worker) == nil)
        }
        // The first one failed, and is not due yet.
        try bench.database.execute(
            "UPDATE entitled.job SET attempts = 1, updated_ms = updated_ms + 60000 WHERE id = $1", [.int8(first)])
        #expect(try bench.work.next(on: worker) == nil)
        try bench.database.execute("UPDATE entitled.job SET updated_ms = 0")
        #expect(try bench.work.next(on: worker)?.job == first)
        #expect(try bench.work.next(on: worker)?.job == second)
    }

    @Test func `a worker that ends counts no failure`() throws {
        let worker = try bench.worker()
        let id = try bench.ask(ChangeFixture.request(.endpointDisable, "ep_1", key: "1"))
        // The statement is cancelled, as that of a worker which has no more time.
        try bench.database.execute(
            """
            CREATE FUNCTION public.cancel() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN PERFORM pg_cancel_backend(pg_backend_pid()); PERFORM pg_sleep(10); RETURN NEW; END $$
            """)
        try bench.database.execute(
            "CREATE TRIGGER cancel BEFORE UPDATE ON entitled.endpoint FOR EACH ROW EXECUTE FUNCTION public.cancel()")
        let error = #expect(throws: PostgresError.self) { try bench.work.next(on: worker) { true } }
        #expect(error?.sqlstate == "57014")
        #expect(try bench.database.count("SELECT attempts::int8 FROM entitled.job") == 0)
        #expect(try bench.work.next(on: worker) == nil)
        #expect(try bench.database.count("SELECT attempts::int8 FROM entitled.job") == 1)
        #expect(try bench.change(id).state == .running)
    }

    @Test func `nothing that was asked for by an operator is done for another one of the same name`() throws {
        let worker = try bench.worker()
        try bench.ask(ChangeFixture.grant(as: "operator", key: "1"))
        let later = try bench.database.count("SELECT max(created_ms) + 1 FROM entitled.job")
        #expect(try ConsoleUserTable.remove("operator", now: later, on: worker))
        _ = try ConsoleUserTable.add("operator", .operator, now: later, on: worker)
        #expect(try bench.work.next(on: worker)?.ending.outcome == .refused)
        #expect(try bench.grants() == 0)
    }

    @Test func `a change is not cancelled as a job is`() throws {
        let worker = try bench.worker()
        let id = try bench.ask(ChangeFixture.grant())
        #expect(try JobTable.cancel(id, on: worker) == nil)
        #expect(try bench.work.next(on: worker)?.job == id)
    }

    @Test func `a pause may be made shorter`() throws {
        for (key, until) in [("1", Int64(9_000_000_000_000)), ("2", 8_000_000_000_000)] {
            let pause = ChangeFixture.request(.endpointPause, "ep_1", .object(["until": .int(until)]), key: key)
            #expect(try bench.ending(of: pause)?.outcome == .done)
            #expect(try bench.database.count("SELECT paused_until_ms FROM entitled.endpoint") == until)
        }
    }

    @Test func `a change whose row another transaction holds is passed over`() throws {
        let (holder, worker) = (try bench.worker(), try bench.worker())
        let first = try bench.ask(ChangeFixture.grant(key: "1"))
        try holder.transaction { () throws -> Void in
            #expect(try ChangeTable.take(on: holder)?.id == first)
            #expect(try bench.work.next(on: worker) == nil)
        }
        #expect(try bench.work.next(on: worker)?.job == first)
    }

    @Test func `what is cut off before its commit is done once afterwards`() throws {
        let doomed = try bench.worker()
        let id = try bench.ask(ChangeFixture.grant())
        // The entry in the audit is the last statement: the server cuts the connection off there.
        try bench.database.execute(
            """
            CREATE FUNCTION public.cut_off() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
            $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$
            """)
        try bench.database.execute(
            "CREATE TRIGGER cut_off BEFORE INSERT ON entitled.audit FOR EACH ROW EXECUTE FUNCTION public.cut_off()")
        #expect(throws: PostgresError.self) { try bench.work.next(on: doomed) }
        #expect(try bench.grants() == 0)
        #expect(try bench.change(id).state == .running)
        try bench.database.execute("DROP TRIGGER cut_off ON entitled.audit")
        let worker = try bench.worker()
        #expect(try bench.work.next(on: worker)?.job == id)
        #expect(try bench.work.next(on: worker) == nil)
        #expect(try bench.grants() == 1)
        #expect(try bench.database.count("SELECT attempts::int8 FROM entitled.job") == 0)
    }

    @Test(arguments: [Int64.min, -1, 253_402_300_800_000, .max])
    func `a pause that no document can write is refused`(until: Int64) throws {
        let ending = try bench.ending(
            of: ChangeFixture.request(.endpointPause, "ep_1", .object(["until": .int(until)])))
        #expect(ending?.outcome == .refused, "\(String(describing: ending))")
        #expect(try bench.database.count("SELECT paused_until_ms FROM entitled.endpoint WHERE id = 'ep_1'") == 0)
    }
}
