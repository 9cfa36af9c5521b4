import Base
import Customers
import Database
import FoundationEssentials
import Glibc
import Postgres
import Subscriptions
import TestSupport
import Testing

/// Journals between a database and its backup, on a real Postgres.
@Suite struct JournalTests {
    @Test func `a journal gives a backup back what it lost, once, and tells no consumer`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.actAfterBackup()
        try scene.sweep(scene.database)
        let exported = try scene.export()
        #expect(exported.entries > 20)
        let before = try JournalFixture.state(scene.backup)
        let dry = try scene.apply(isDry: true)
        #expect(try JournalFixture.state(scene.backup) == before)
        let events = try scene.backup.count("SELECT count(*) FROM entitled.event")
        let counts = try scene.apply()
        #expect(counts == dry, "\(counts), \(dry)")
        #expect(counts.applied > 10 && counts.refused == 0)
        #expect(counts.all == exported.entries)
        #expect(try scene.backup.count("SELECT count(*) FROM entitled.event") == events)
        let again = try scene.apply()
        #expect(again == JournalApplication.Counts(applied: 0, already: counts.all, refused: 0))
        try scene.sweep(scene.backup)
        let lacking = try scene.lacking()
        #expect(lacking.isEmpty, "\(lacking)")
        #expect(try scene.differences(scene.backup) == [])
        #expect(try DatabaseScan(scene.backup).places(of: ["gone-person", "late-person"]) == [:])
        #expect(try scene.backup.texts("SELECT owner FROM entitled.purchase WHERE app = 'demo'") == ["dora"])
        // New actions have numbers that consumers have seen nothing of.
        let last = try scene.database.count("SELECT max(seq) FROM entitled.action")
        try scene.backup.execute(
            "INSERT INTO entitled.action (kind, at_ms, actor, app_user_id) VALUES ('alias', 1, 'x', 'y')")
        #expect(try scene.backup.count("SELECT max(seq) FROM entitled.action") > last)
    }

    @Test func `actions since the restore keep their numbers, and those of the journal get others`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.act { actions, connection in
            _ = try actions.grant("pro", to: "carl", .lasting(.yearly), on: connection)
        }
        try scene.export()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "since"), foldSettings: FoldSettings())
        _ = try actions.grant(
            "pro", to: "emil", .lasting(.weekly), on: try scene.backup.connect(role: "entitled_worker"))
        #expect(try scene.apply().refused == 0)
        #expect(try scene.apply().applied == 0)
        let owners = try scene.backup.texts("SELECT owner FROM entitled.purchase WHERE app <> 'demo' ORDER BY 1")
        #expect(owners == ["ann", "carl", "emil", "gone-person"])
        #expect(try scene.differences(scene.backup) == [])
    }

    @Test func `what an app said of a price reaches documents and reports again`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        let key = try PurchaseKey(
            scene.database.connect(role: "entitled_worker").query(
                "SELECT app, environment, original_transaction_id FROM entitled.purchase WHERE app = 'demo'"
            ).one())
        try scene.act { _, connection in
            let said = TransactionContext(
                transactionID: key.originalTransactionID, price: 4990, currency: "EUR", at: SystemClock().now())
            let fact = FactTable.New(key: key, seq: SequenceGenerator.least(at: said.at), fact: FactRow(said))
            guard try FactTable.insertNew([fact], on: connection).count == 1 else { throw TestFailure("it was known") }
        }
        try scene.export()
        let version = "SELECT version FROM entitled.purchase WHERE app = 'demo'"
        let before = try scene.backup.count(version)
        #expect(try scene.apply().applied == 1)
        #expect(try scene.backup.count(version) > before)
    }

    // MARK: - Operators and keys

    private func key(of user: String, on connection: PostgresConnection) throws -> (id: String, key: Redacted<String>) {
        try #require(try OperatorKeyTable.create(for: user, .read, until: nil, now: 5, on: connection))
    }

    @Test func `operators and keys that were removed stay so in a backup, and none is made`() throws {
        let scene = try JournalFixture()
        var (keys, new): ([String: (id: String, key: Redacted<String>)], String) = ([:], "")
        try scene.act { _, connection in
            for name in ["anna", "ben", "dan"] {
                _ = try ConsoleUserTable.add(name, .operator, now: 1, on: connection)
                keys[name] = try key(of: name, on: connection)
            }
            try scene.database.execute("UPDATE entitled.console_user SET password = 'secret words'")
        }
        try scene.takeBackup()
        // Each state is in the file: what is there first, and how it ends.
        try scene.export()
        try scene.act { _, connection in
            _ = try ConsoleUserTable.add("carol", .operator, now: 10, on: connection)
            keys["carol"] = try key(of: "carol", on: connection)
            new = try APIKeyTable.create(.secret, app: nil, scope: "read", name: "n", now: 10, on: connection).id
        }
        try scene.export()
        try scene.act { _, connection in
            _ = try ConsoleUserTable.remove("anna", now: 20, on: connection)
            _ = try OperatorKeyTable.revoke(try #require(keys["ben"]).id, now: 20, on: connection)
            // Another operator of the same name.
            _ = try ConsoleUserTable.remove("dan", now: 20, on: connection)
            _ = try ConsoleUserTable.add("dan", .read, now: 30, on: connection)
            _ = try APIKeyTable.revoke(new, now: 20, on: connection)
        }
        try scene.export()
        #expect(try !scene.text().contains("secret words"))
        let connection = try scene.backup.connect(role: "entitled_worker")
        func caller(_ name: String) throws -> String? {
            let key = try #require(keys[name]).key
            return try OperatorKeyTable.caller(withKey: key.exposed, now: 100, on: connection)?.user
        }
        #expect(try ["anna", "ben", "carol", "dan"].map(caller) == ["anna", "ben", nil, "dan"])
        #expect(try scene.apply(isDry: true) == scene.apply())
        #expect(try ["anna", "ben", "carol", "dan"].map(caller) == [nil, nil, nil, nil])
        #expect(try ConsoleUserTable.list(live: true, on: connection).map(\.name) == ["ben"])
        #expect(try APIKeyTable.list(on: connection).first { $0.id == new }?.revoked == 20)
        // Passwords are of the operators who had them.
        #expect(
            try scene.backup.texts("SELECT name FROM entitled.console_user WHERE password IS NOT NULL") == ["ben"])
        #expect(try scene.apply().applied == 0)
    }

    @Test func `an operator who was added anew since the restore stays`() throws {
        let scene = try JournalFixture()
        try scene.act { _, connection in _ = try ConsoleUserTable.add("anna", .read, now: 1, on: connection) }
        try scene.takeBackup()
        try scene.act { _, connection in _ = try ConsoleUserTable.remove("anna", now: 20, on: connection) }
        try scene.export()
        let connection = try scene.backup.connect(role: "entitled_worker")
        _ = try ConsoleUserTable.remove("anna", now: 30, on: connection)
        _ = try ConsoleUserTable.add("anna", .operator, now: 40, on: connection)
        _ = try scene.apply()
        #expect(try ConsoleUserTable.find("anna", on: connection)?.role == .operator)
    }

    @Test func `an operator who was removed since the restore does not come back, nor does a key of the lost time`()
        throws
    {
        let scene = try JournalFixture()
        try scene.act { _, connection in _ = try ConsoleUserTable.add("anna", .read, now: 1, on: connection) }
        try scene.takeBackup()
        var lost: Redacted<String>?
        try scene.act { _, connection in
            _ = try ConsoleUserTable.remove("anna", now: 20, on: connection)
            _ = try ConsoleUserTable.add("anna", .operator, now: 30, on: connection)
            lost = try key(of: "anna", on: connection).key
        }
        try scene.export()
        let connection = try scene.backup.connect(role: "entitled_worker")
        _ = try ConsoleUserTable.remove("anna", now: 50, on: connection)
        _ = try scene.apply()
        #expect(try ConsoleUserTable.find("anna", on: connection) == nil)
        _ = try ConsoleUserTable.add("anna", .read, now: 60, on: connection)
        let caller = try OperatorKeyTable.caller(
            withKey: try #require(lost).exposed, now: 100, on: connection)
        #expect(caller == nil)
        #expect(try ConsoleUserTable.find("anna", on: connection)?.role == .read)
    }

    // MARK: - Deletions

    @Test func `a deletion takes earlier lines out of the file, and older copies bring nobody back`() throws {
        let scene = try JournalFixture()
        try scene.export()
        #expect(try scene.text().contains("gone-person"))
        let old = try scene.write(try scene.text(), to: "old.journal")
        try scene.act { actions, connection in _ = try actions.delete("gone-person", on: connection) }
        // At once, and not only when everything is swept.
        #expect(try scene.export().erased > 0)
        #expect(try !scene.text().contains("gone-person"))
        try scene.sweep(scene.database)
        #expect(try scene.export().entries > 0)
        #expect(try scene.export() == JournalExport.Result())
        let state = try JournalFixture.state(scene.database)
        let counts = try scene.apply(old, to: scene.database)
        #expect(counts.applied == 0 && counts.refused > 0)
        #expect(try JournalFixture.state(scene.database) == state)
        #expect(try DatabaseScan(scene.database).places(of: ["gone-person"]) == [:])
    }

    @Test func `a customer who came back after a deletion comes back with the journal`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.act { actions, connection in
            _ = try actions.delete("gone-person", on: connection)
            _ = try actions.grant("pro", to: "gone-person", .lasting(.yearly), on: connection)
        }
        try scene.sweep(scene.database)
        try scene.export()
        #expect(try scene.apply().refused == 0)
        try scene.sweep(scene.backup)
        let lacking = try scene.lacking()
        #expect(lacking.isEmpty, "\(lacking)")
        #expect(try scene.backup.count("SELECT count(*) FROM entitled.purchase WHERE owner = 'gone-person'") == 1)
    }

    // MARK: - The file

    @Test func `an export adds to its file, keeps what a restored database lost, and is for its owner alone`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.act { actions, connection in
            _ = try actions.grant("pro", to: "carl", .lasting(.yearly), on: connection)
        }
        let first = try scene.export()
        chmod(scene.file, 0o644)
        #expect(try scene.export() == JournalExport.Result())
        var status = stat()
        #expect(stat(scene.file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        try scene.act { actions, connection in
            _ = try actions.grant("pro", to: "dora", .lasting(.yearly), on: connection)
        }
        // An action, a customer, a grant, and whose it is.
        #expect(try scene.export().entries == 4)
        let lines = try scene.text().split(separator: "\n").count
        try scene.export(scene.backup)
        let text = try scene.text()
        #expect(text.contains("carl") && text.contains("dora"))
        #expect(text.split(separator: "\n").count >= lines && first.entries > 10)
        for line in text.split(separator: "\n") {
            #expect(try JSON(parsing: Array(line.utf8))["id"]?.stringValue != nil)
        }
    }

    @Test func `an export since a time leaves out what was before it`() throws {
        let scene = try JournalFixture()
        let since = SystemClock().now() + 1
        try eventually("the clock has moved on") { SystemClock().now() > since }
        try scene.act { actions, connection in
            _ = try actions.grant("pro", to: "carl", .lasting(.yearly), on: connection)
        }
        try scene.export(since: since)
        let text = try scene.text()
        #expect(text.contains("carl") && !text.contains("gone-person"))
        // The rest follows when it is asked for.
        try scene.export()
        #expect(try scene.text().contains("gone-person"))
    }

    @Test func `what a killed export left unfinished goes, and comes again`() throws {
        let scene = try JournalFixture()
        try scene.export()
        let whole = try scene.text()
        let cut = try scene.write(String(whole.dropLast(whole.count / 3)))
        #expect(try scene.export(to: cut).entries > 0)
        #expect(try scene.apply(cut, to: scene.database).applied == 0)
    }

    // MARK: - Later changes

    @Test func `an older journal changes no endpoint and no offering that was changed since`() throws {
        let scene = try JournalFixture()
        let connection = try scene.database.connect(role: "entitled_worker")
        #expect(try OfferingOverrides.set("winter", for: "ann", on: connection))
        try scene.export()
        let old = try scene.write(try scene.text(), to: "old.journal")
        let endpoint = try scene.firstEndpoint(connection)
        try connection.query(
            "UPDATE entitled.endpoint SET url = 'https://new.example.com' WHERE id = $1", [.text(endpoint)])
        #expect(try OfferingOverrides.set(nil, for: "ann", on: connection))
        let state = try JournalFixture.state(scene.database)
        let counts = try scene.apply(old, to: scene.database)
        #expect(counts.applied == 0 && counts.refused == 1 && counts.changedEndpoints == [endpoint])
        #expect(try JournalFixture.state(scene.database) == state)
        // A pause is no change.
        try scene.export()
        try connection.query("UPDATE entitled.endpoint SET paused_until_ms = 5")
        #expect(try scene.export() == JournalExport.Result())
        #expect(try scene.apply(to: scene.database).refused == 0)
    }

    @Test func `what was undone stays undone, also where the backup is of before`() throws {
        let scene = try JournalFixture()
        let connection = try scene.database.connect(role: "entitled_worker")
        let endpoint = try scene.firstEndpoint(connection)
        try scene.export()
        _ = try EndpointTable.disable(endpoint, reason: "a test", on: connection)
        #expect(try OfferingOverrides.set("winter", for: "ann", on: connection))
        try scene.export()
        try scene.takeBackup()
        let later = try scene.database.connect(role: "entitled_worker")
        _ = try EndpointTable.enable(endpoint, on: later)
        #expect(try OfferingOverrides.set(nil, for: "ann", on: later))
        // The same as before, and an entry of its own.
        #expect(try scene.export().entries == 2)
        #expect(try scene.apply().applied == 2)
        #expect(try JournalFixture.state(scene.backup) == JournalFixture.state(scene.database))
        // An operator's change after the restore stays.
        try scene.backup.execute(
            "UPDATE entitled.endpoint SET url = 'https://since.example.com' WHERE id = $1", [.text(endpoint)])
        #expect(try scene.apply().changedEndpoints == [endpoint])
        try scene.export(scene.backup)
        #expect(try scene.apply(to: scene.database).changedEndpoints == [])
        #expect(try scene.database.texts("SELECT url FROM entitled.endpoint") == ["https://since.example.com"])
    }

    // MARK: - Exports beside other events

    @Test func `an export that was killed before it removed a deleted customer's lines is finished by the next one`()
        throws
    {
        let scene = try JournalFixture()
        try scene.export()
        try scene.act { actions, connection in
            _ = try actions.delete("gone-person", on: connection)
            // As far as the killed one came.
            let file = try JournalFile(scene.file, names: try DeletedNames(on: connection).emptied)
            try connection.transaction {
                let extent = JournalQuery.Extent(since: nil, mark: nil, now: 0)
                try JournalQuery.read(.deletion, extent, on: connection) { entry in _ = try file.add(entry) }
            }
            try file.end(nil, since: nil)
        }
        #expect(try scene.text().contains("gone-person"))
        #expect(try scene.export().erased > 0)
        #expect(try !scene.text().contains("gone-person"))
    }

    @Test func `an export of the restored database before the journal is applied brings no deleted customer back`()
        throws
    {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.act { actions, connection in _ = try actions.delete("gone-person", on: connection) }
        try scene.sweep(scene.database)
        try scene.export()
        // The backup knows the customer, and not the deletion.
        try scene.backup.execute("UPDATE entitled.app_user_id SET of_account = true WHERE id = 'gone-person'")
        try scene.export(scene.backup)
        try scene.export(scene.backup)
        #expect(try !scene.text().contains("gone-person"))
        _ = try scene.apply()
        try scene.sweep(scene.backup)
        #expect(try DatabaseScan(scene.backup).places(of: ["gone-person"]) == [:])
        // From then on it goes on as usual.
        try scene.export(scene.backup)
        #expect(try scene.export(scene.backup) == JournalExport.Result())
    }

    @Test func `a journal is applied beside an export that writes it, as far as it is whole`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.act { actions, connection in
            _ = try actions.grant("pro", to: "carl", .lasting(.yearly), on: connection)
        }
        try scene.export()
        let connection = try scene.database.connect(role: "entitled_worker")
        let export = try JournalExport(to: scene.file, since: nil, on: connection)
        let whole = try scene.text()
        let file = open(scene.file, O_WRONLY | O_APPEND)
        let unfinished = Array(#"{"id":"acti"#.utf8)
        #expect(Glibc.write(file, unfinished, unfinished.count) == unfinished.count)
        close(file)
        #expect(try scene.text() != whole)
        #expect(throws: JournalFailure.inUse(file: scene.file)) { try scene.export() }
        #expect(try scene.apply().applied > 0)
        #expect(try scene.apply().applied == 0)
        withExtendedLifetime(export) {}
    }

    @Test func `a server that does not say where it is gets whole exports`() throws {
        let scene = try JournalFixture()
        try scene.database.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
        #expect(try scene.export().entries > 0)
        #expect(try scene.export() == JournalExport.Result())
        #expect(try !scene.text().contains("transaction\":"))
    }

    // MARK: - Bad input

    @Test func `a journal that cannot be used is one line, and changes nothing`() throws {
        let scene = try JournalFixture()
        try scene.takeBackup()
        try scene.actAfterBackup()
        try scene.export()
        let text = try scene.text()
        let lines = text.split(separator: "\n").map(String.init)
        func changed(_ change: (inout [String]) -> Void) -> String {
            var copy = lines
            change(&copy)
            return copy.map { $0 + "\n" }.joined()
        }
        let before = try JournalFixture.state(scene.backup)
        func refuse(_ text: String, _ wanted: String, sealer: SecretSealer? = nil, alsoExport: Bool = false) throws {
            let path = try scene.write(text)
            let failure = #expect(throws: JournalFailure.self) { try scene.apply(path, sealer: sealer) }
            let message = failure.map { "\($0)" } ?? ""
            #expect(message.contains(wanted) && !message.contains("\n"), "it said: \(message)")
            // Neither does an export write over what is no journal of this database.
            guard alsoExport else { return }
            #expect(throws: JournalFailure.self) { try scene.export(to: path) }
            #expect(try String(contentsOfFile: path, encoding: .utf8) == text)
        }
        let place = try #require(lines.firstIndex { $0.contains("\"type\":\"action\"") })
        try refuse(
            changed { $0[place] = $0[place].replacing("\"at_ms\":1", with: "\"at_ms\":2") },
            "damaged at line \(place + 1)", alsoExport: true)
        try refuse(changed { $0.remove(at: place) }, "damaged at line \(place + 1)", alsoExport: true)
        try refuse(String(text.dropLast(20)), "cut off after line")
        try refuse(
            changed { while $0.last?.contains("\"type\":\"end\"") == true { $0.removeLast() } }, "cut off after line")
        try refuse("", "is not a journal")
        try refuse("{\"hello\":1}\n", "is not a journal", alsoExport: true)
        try refuse(
            changed { $0[0] = $0[0].replacing("\"format\":1", with: "\"format\":9") }, "format 9", alsoExport: true)
        let other = SecretSealer(keys: [Redacted([UInt8](repeating: 9, count: 32))])
        try refuse(text, "sealed with a key", sealer: other)
        #expect(try JournalFixture.state(scene.backup) == before)
        try scene.backup.execute("UPDATE entitled.deletion_salt SET salt = 'another'")
        try refuse(text, "another installation")
        #expect(try JournalFixture.state(scene.backup) == before)
    }
}
