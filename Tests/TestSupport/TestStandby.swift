import FoundationEssentials
import Glibc

/// A streaming standby of a test cluster: read-only until it is promoted. It goes as a test cluster does.
package final class TestStandby: Sendable {
    private let watchdog: Watchdog
    private let folder: String
    private let programs: String
    private var data: String { "\(folder)/postgres/data" }
    /// The folder of its socket, as a host of a connection string.
    package let host: String

    package init(of cluster: TestCluster) throws {
        folder = try TemporaryFolder.make()
        host = "\(folder)/postgres"
        programs = try TestStandby.findPrograms()
        guard mkdir(host, 0o755) == 0 else { throw TestFailure("no folder") }
        try TestCommand.giveAway(host)
        watchdog = try Watchdog(folder: folder)
        try TestCommand.run(
            TestCommand.unprivileged([
                "\(programs)/pg_basebackup", "-h", cluster.host, "-U", "entitled", "-D", data, "-R", "-c", "fast",
                "--no-sync",
            ]))
        try start()
    }

    package func start() throws {
        try control("start", "-l", "\(host)/log", "-o", "-c unix_socket_directories=\(host)")
    }

    package func stop() throws {
        try control("stop", "-m", "fast")
    }

    /// It takes writes from now on.
    package func promote() throws {
        try control("promote")
    }

    private func control(_ command: String, _ options: String...) throws {
        try TestCommand.run(
            TestCommand.unprivileged(
                ["\(programs)/pg_ctl", command, "-s", "-w", "-D", data] + options))
    }

    /// The folder of the newest Postgres' programs.
    package static func findPrograms() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = try FileManager.default.contentsOfDirectory(atPath: root).compactMap { Int($0) }
        guard let newest = versions.max() else { throw TestFailure("no Postgres in \(root)") }
        return "\(root)/\(newest)/bin"
    }
}
