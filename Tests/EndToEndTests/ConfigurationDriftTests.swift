import Base
import Glibc
import TestSupport
import Testing

/// Hosts whose configurations differ, as the doctor finds them.
@Suite struct ConfigurationDriftTests {
    private func finding(_ site: Site) throws -> (status: String, message: String) {
        let doctor = try site.start("doctor", "--offline", "--json")
        // Of a database for tests other findings may be bad.
        _ = try doctor.wait()
        let check = doctor.document?["checks"]?.arrayValue?.first { $0["name"]?.stringValue == "work.configuration" }
        return (check?["status"]?.stringValue ?? "", check?["message"]?.stringValue ?? "")
    }

    @Test func `a host that was forgotten is named until it is reloaded, and addresses do not count`() throws {
        let site = try Site(TestCluster.shared.makeDatabase())
        try site.run("migrate")
        let programs = [try site.start("ingest"), try site.start("api"), try site.start("worker")]
        try eventually("all are there") { try finding(site).message.hasPrefix("3 roles of processes work") }
        #expect(try finding(site).status == "ok")

        // Another host: its addresses differ, and its log level.
        try site.configure(["log": .object(["level": .string("notice")]), "secrets_dir": .string(site.folder)])
        #expect(try finding(site).status == "ok")

        try site.configure(["default_grace_period": .string("5d")])
        let before = try finding(site)
        #expect(
            before.status == "warning" && before.message.hasPrefix("no process uses the configuration of this host")
        )
        programs[0].kill(SIGHUP)
        try eventually("the others are named") {
            let found = try finding(site)
            return found.status == "warning" && found.message.hasPrefix("processes use different configurations")
                && found.message.contains("(as on this host): ingest on ") && found.message.contains("worker on ")
                && found.message.contains("api on ")
        }
        for program in programs.dropFirst() { program.kill(SIGHUP) }
        try eventually("all are equal again") { try finding(site).message.hasPrefix("3 roles of processes work") }
        for program in programs { program.kill(SIGTERM) }
        for program in programs { #expect(try program.wait() == 0) }
        #expect(try finding(site).message == "no process has said by which configuration it works")
    }
}
