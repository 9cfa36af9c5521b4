import Base
import Glibc
import TestSupport
import Testing

/// Lines of a process whose standard error is systemd's journal, as systemd.exec(5) says it.
@Suite(.enabled(if: Program.isBuilt, "skipped: \(Program.path) is not built"))
struct JournalPriorityTests {
    /// What the process writes with `JOURNAL_STREAM` set by this shell command.
    private func lines(_ variable: String) throws -> [String] {
        let site = try Site(TestCluster.shared.makeMigratedDatabase())
        let shell = "JOURNAL_STREAM=\(variable) exec \(Program.path) ingest --config entitled.json5"
        let process = try Program(running: ["/bin/sh", "-c", "cd '\(site.folder)' && \(shell)"], folder: site.folder)
        try eventually("the process has started; it said: \(process.log.suffix(500))") {
            process.log.contains("listening")
        }
        process.kill(SIGTERM)
        _ = try process.wait()
        return process.log.split(separator: "\n").map(String.init)
    }

    @Test func `the journal gets the priority of each line`() throws {
        let lines = try lines("$(stat -L -c %d:%i /proc/self/fd/2)")
        for line in lines {
            #expect(line.hasPrefix("<") && line.dropFirst(2).hasPrefix(">{"), "\(line)")
        }
        #expect(lines.contains { $0.hasPrefix("<6>{") || $0.hasPrefix("<5>{") })
    }

    @Test(arguments: ["1:1", ""]) func `another file gets JSON alone`(variable: String) throws {
        #expect(try lines("'\(variable)'").allSatisfy { $0.hasPrefix("{") })
    }
}
