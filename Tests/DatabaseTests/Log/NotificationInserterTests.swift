import Base
import Database
import Postgres
import TestSupport
import Testing

@Suite struct NotificationInserterTests {
    @Test func `what is new is accepted and what is known is a duplicate`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_ingest")
        var inserter = Sample.inserter()
        let (a, b) = (try Sample.notification(Sample.uuid(1)), try Sample.notification(Sample.uuid(2)))
        #expect(try inserter.insert([a], on: connection) == [.accepted])
        #expect(try inserter.insert([a, b], on: connection) == [.duplicate, .accepted])
        for table in ["notification", "notification_key", "pending"] {
            #expect(try database.count("SELECT count(*) FROM entitled.\(table)") == 2)
        }
        #expect(try database.count("SELECT count(*) FROM entitled.jws_header") == 1)
    }

    @Test func `the same UUID in another environment or app is another notification`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_ingest")
        var inserter = Sample.inserter()
        let copies = try [
            Sample.notification(Sample.uuid(1)), Sample.notification(Sample.uuid(1), environment: .sandbox),
            Sample.notification(Sample.uuid(1), app: "other"),
        ]
        #expect(try inserter.insert(copies, on: connection) == [.accepted, .accepted, .accepted])
        #expect(try inserter.insert(copies, on: connection) == [.duplicate, .duplicate, .duplicate])
        let found = try NotificationQuery.find(
            uuid: Sample.uuid(1), app: "demo", environment: .sandbox, on: try database.connect())
        #expect(found.whole.count == 1)
    }

    @Test func `a UUID in another case is the same notification`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let connection = try database.connect(role: "entitled_ingest")
        var inserter = Sample.inserter()
        let uuid = "002e14d5-51f5-4503-b5a8-c3a1af68eb20"
        #expect(try inserter.insert([try Sample.notification(uuid)], on: connection) == [.accepted])
        #expect(try inserter.insert([try Sample.notification(uuid.uppercased())], on: connection) == [.duplicate])
    }

    @Test func `the commit waits for the disk although the database's default does not`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        try database.execute("ALTER DATABASE \(database.name) SET synchronous_commit = off")
        try database.connect().execute(
            script: """
                CREATE TABLE public.seen (setting text);
                GRANT INSERT ON public.seen TO entitled_ingest;
                CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    INSERT INTO public.seen VALUES (TG_TABLE_NAME || ' ' || current_setting('synchronous_commit'));
                    RETURN NULL; END $$;
                CREATE TRIGGER look AFTER INSERT ON entitled.pending EXECUTE FUNCTION public.look();
                CREATE TRIGGER look AFTER INSERT ON entitled.jws_header EXECUTE FUNCTION public.look();
                """)
        let connection = try database.connect(role: "entitled_ingest")
        #expect(try connection.query("SHOW synchronous_commit").one().text(0) == "off")
        var inserter = Sample.inserter()
        _ = try inserter.insert([try Sample.notification(Sample.uuid(1))], on: connection)
        #expect(try database.texts("SELECT setting FROM public.seen ORDER BY 1") == ["jws_header on", "pending on"])
        // The setting was the transaction's, not the session's.
        #expect(try connection.query("SHOW synchronous_commit").one().text(0) == "off")
    }

    /// A failover would take back what the primary alone has, however it came to be visible there.
    @Test func `nothing is acknowledged that no synchronous standby has`() throws {
        let cluster = try TestCluster()
        let database = try cluster.makeMigratedDatabase()
        // The server tells by a warning that it did not wait.
        try database.execute("ALTER DATABASE \(database.name) SET client_min_messages = error")
        let owner = try database.connect()
        func wait(for standby: String) throws {
            try owner.query("ALTER SYSTEM SET synchronous_standby_names = '\(standby)'")
            try owner.query("SELECT pg_reload_conf()")
            try eventually("the server has it") {
                try database.texts("SELECT current_setting('synchronous_standby_names')") == [standby]
            }
        }
        func inserting(_ notification: NewNotification) -> TestThread<[NotificationInserter.InsertResult]> {
            TestThread {
                var inserter = Sample.inserter()
                return try inserter.insert([notification], on: try database.connect(role: "entitled_ingest"))
            }
        }
        let waiting = "SELECT count(*) FROM pg_stat_activity WHERE lower(wait_event) = 'syncrep'"
        let notification = try Sample.notification(Sample.uuid(1))
        try wait(for: "missing")

        let first = inserting(notification)
        try eventually("its commit waits") { try database.count(waiting) == 1 }
        try owner.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE lower(wait_event) = 'syncrep'")
        let error = #expect(throws: PostgresError.self) { try first.value() }
        #expect(error?.outcomeUnknown == true && error?.isConnectionLost == true, "\(String(describing: error))")
        #expect(try database.count("SELECT count(*) FROM entitled.notification") == 1)

        let second = inserting(notification)
        try eventually("the answer for a known one waits") { try database.count(waiting) == 1 }
        try wait(for: "")
        #expect(try second.value() == [.duplicate])
    }

    @Test func `two processes with the same notifications in opposite order do not deadlock`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let threads = [UInt16(1), 2, 3].map { node in
            TestThread {
                let connection = try database.connect(role: "entitled_ingest")
                var inserter = Sample.inserter(node: node)
                var accepted = 0
                for batch in 0..<30 {
                    let numbers = (0..<20).map { batch * 20 + $0 }
                    let ordered = node == 1 ? numbers : node == 2 ? numbers.reversed() : numbers.shuffled()
                    let outcomes = try inserter.insert(
                        ordered.map { try Sample.notification(Sample.uuid($0)) }, on: connection)
                    accepted += outcomes.filter { $0 == .accepted }.count
                }
                return accepted
            }
        }
        #expect(try threads.map { try $0.value() }.reduce(0, +) == 600)
        #expect(try database.count("SELECT count(*) FROM entitled.pending") == 600)
    }

    @Test func `a text with a NUL is stored with what can be stored`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        var inserter = Sample.inserter()
        let odd = try Sample.notification(
            "odd\0uuid", purchase: "2000\0001", payload: Array("{\"a\":\"\\u0000\"}".utf8))
        let connection = try database.connect(role: "entitled_ingest")
        #expect(try inserter.insert([odd], on: connection) == [.accepted])
        #expect(try inserter.insert([odd], on: connection) == [.duplicate])
        #expect(try database.count("SELECT count(*) FROM entitled.notification WHERE uuid = 'odd\u{fffd}uuid'") == 1)
    }
}
