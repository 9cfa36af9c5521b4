import Base
import Daemon
import FoundationEssentials
import Glibc
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// `entitled export` and the views of analysts, by the program itself.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct ExportCommandTests {
    private func mode(_ path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
    }

    @Test func `exports are whole files for their owner, and compare with what they were made of`() throws {
        let site = try Site(
            TestCluster.shared.makeMigratedDatabase(), ["reports": .object(["refresh": .string("60s")])])
        var lives = (0..<3 as Range<UInt64>).map { SubscriberLife(app: Site.app, seed: 61, number: $0) }
        for place in lives.indices { lives[place].start(at: Site.start) }
        let processes = [try site.start("ingest"), try site.start("worker")]
        let address = try processes[0].address("ingest")
        for notification in lives.flatMap(\.notifications) {
            #expect(try site.post(notification, to: address) == 200)
        }
        let database = try #require(site.database)
        try eventually(timeout: .seconds(60), "reports are fresh; the worker said: \(processes[1].log.suffix(500))") {
            try database.count("SELECT count(*) FROM entitled.report_transaction") == 3
        }
        let connection = try database.connect(role: "entitled_analyst")
        let priced = "SELECT count(*) FROM entitled_reports.transactions WHERE price > 0 AND customer_id IS NOT NULL"
        #expect(try connection.query(priced).one().int(0) == 3)

        let path = "\(site.folder)/transactions.csv"
        let document = try site.run("export", "transactions", "--output", path, "--json").document
        #expect(document?["rows"] == .int(3) && document?["file"] == .string(path))
        #expect(mode(path) == 0o600)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.hasPrefix("rc_original_app_user_id,rc_last_seen_app_user_id_alias,country,"))
        #expect(text.split(separator: "\r\n").count == 4)
        #expect(try site.run("compare", "--csv", path, "--app", "demo", "--json").document?["differing"] == .int(0))
        // Nothing is written over, unless one says so.
        let refused = try site.run("export", "transactions", "--output", path, status: 1)
        #expect(refused.log.contains("--force replaces it"))
        try "former".write(toFile: path, atomically: true, encoding: .utf8)
        chmod(path, 0o644)
        try site.run("export", "transactions", "--output", path, "--force", "--environment", "Production")
        #expect(try String(contentsOfFile: path, encoding: .utf8) == text && mode(path) == 0o600)
        #expect(try site.run("export", "transactions").text == text)
        // Rows that go to standard output come after what is there, with nothing between or after them.
        for output in ["/dev/stdout", "/dev/fd/1"] {
            let script = "echo earlier; exec \"$0\" export transactions --output \(output) --config \"$1\""
            let appended = try Program(
                running: ["/bin/sh", "-c", script, Program.path, "\(site.folder)/entitled.json5"], folder: site.folder)
            #expect(try appended.wait() == 0)
            #expect(appended.text == "earlier\n" + text)
        }
        try site.run("export", "transactions", "--output", "/dev/stdout", "--json", status: 2)
        let sandbox = try site.run("export", "transactions", "--environment", "Sandbox").text
        #expect(sandbox.split(separator: "\r\n").count == 1)
        // In a folder it has a name as RevenueCat's files have it, from which readers take the time.
        let folder = "\(site.folder)/exports"
        mkdir(folder, 0o755)
        let before = SystemClock().now() / 1000
        let named = try #require(
            try site.run("export", "transactions", "--output", folder, "--json").document?["file"]?.stringValue)
        let seconds = try #require(named.wholeMatch(of: /.*\/exports\/transactions_(\d{10})\.csv/)?.1)
        #expect((before...SystemClock().now() / 1000).contains(Int64(seconds) ?? 0))
        #expect(try String(contentsOfFile: named, encoding: .utf8) == text && mode(named) == 0o600)
        // The same rows with other characters between the fields.
        for (name, character) in [("semicolon", ";"), ("tab", "\t")] {
            let other = try site.run("export", "transactions", "--delimiter", name).text
            #expect(other.hasPrefix("rc_original_app_user_id\(character)rc_last_seen_app_user_id_alias\(character)"))
            let file = "\(site.folder)/\(name).csv"
            try site.run("export", "transactions", "--delimiter", name, "--output", file)
            #expect(try site.run("compare", "--csv", file, "--app", "demo", "--json").document?["same"] == .int(3))
        }
        try site.run("export", "transactions", "--delimiter", "|", status: 2)
        let customers = "\(site.folder)/customers.csv"
        #expect(try site.run("export", "customers", "--output", customers, "--json").document?["rows"] == .int(3))
        try site.run("export", "customers", "--force", status: 2)
        try site.run("export", "customers", "--json", status: 2)
        let left = try FileManager.default.contentsOfDirectory(atPath: site.folder).filter { $0.contains("unfinished") }
        #expect(left == [])
    }
}
