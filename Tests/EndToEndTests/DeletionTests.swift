import Base
import Daemon
import Glibc
import StoreSimulator
import TestSupport
import Testing

@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct DeletionTests {
    private static let name = "planted-user-77"

    /// A site with a customer of two ids and two purchases.
    private func plant(_ changes: [String: JSON] = [:]) throws -> (site: Site, token: String, run: Program) {
        let site = try Site(try TestCluster.shared.makeMigratedDatabase(), changes)
        let program = try site.start("run")
        let ingest = try program.address("ingest")
        var lives = [1, 2].map { SubscriberLife(app: Site.app, seed: 77, number: $0) }
        lives[1].account = lives[0].account
        for place in lives.indices {
            #expect(try site.post(lives[place].start(at: Site.start), to: ingest) == 200)
        }
        let database = try #require(site.database)
        try eventually("both are applied") { try database.count("SELECT count(*) FROM entitled.purchase") == 2 }
        let token = try #require(lives[0].account.token)
        try site.run("customers", "alias", token, DeletionTests.name, "--create")
        return (site, token, program)
    }

    @Test(arguments: [
        "deletion.after-commit", "sweep.before-commit", "sweep.after-commit", "sweep.before-commit:2",
        "sweep.after-commit:3",
    ])
    func `a deletion whose command was killed is finished by a worker`(_ point: String) throws {
        let (site, token, program) = try plant()
        let database = try #require(site.database)
        let command = try site.start(
            "customers", "delete", DeletionTests.name, environment: [FailPoint.variable: point])
        #expect(try command.wait() == 128 + SIGKILL)
        // From the first moment on no customer has the ids.
        try site.run("customers", "show", DeletionTests.name, status: 1)
        try eventually("it is done") {
            try database.count("SELECT count(*) FROM entitled.deletion WHERE state = 'done' AND names IS NULL") == 1
        }
        #expect(try DatabaseScan(database).places(of: [token, DeletionTests.name]) == [:])
        let deletions = try site.run("customers", "deletions", "--id", token, "--json").document?["deletions"]
        #expect(deletions?.arrayValue?.count == 1)
        #expect(deletions?.arrayValue?.first?["counts"]?["purchase"] == .int(2))
        #expect(deletions?.arrayValue?.first?["counts"]?["action"] == .int(3))
        try site.run("rebuild", "--dry-run")
        withExtendedLifetime(program) {}
    }

    @Test func `the setting and the options say what becomes of purchases, and an export is a file of its own`() throws
    {
        let (site, token, program) = try plant(["privacy": .object(["deletion": .string("erase")])])
        let file = "\(site.folder)/export.json"
        try site.run("customers", "export", DeletionTests.name, "--output", file)
        // What is there already is not written over.
        #expect(try site.run("customers", "export", token, "--output", file, status: 1).log.contains("cannot write"))
        var status = stat()
        #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
        let printed = try site.run("customers", "export", token).document
        #expect(printed?["purchases"]?.arrayValue?.count == 2)
        #expect(
            try site.run("customers", "delete", token, "--erase", "--pseudonymise", status: 2).log.contains(
                "cannot be combined"))
        let deleted = try site.run("customers", "delete", token, "--json").document
        #expect(deleted?["policy"] == .string("erase") && deleted?["state"] == .string("done"))
        let database = try #require(site.database)
        #expect(try database.count("SELECT count(*) FROM entitled.purchase") == 0)
        try site.run("customers", "export", token, status: 1)
        #expect(try site.run("customers", "deletions").log.isEmpty)
        withExtendedLifetime(program) {}
    }
}
