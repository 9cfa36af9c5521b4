import FoundationEssentials
import Glibc
import Postgres

/// A Postgres on a port of this host that asks everyone for a password.
package final class TestPasswordServer: Sendable {
    package let port: UInt16
    private let folder: String
    private let watchdog: Watchdog
    private let programs: String

    package var url: String { "postgres://admin:root@127.0.0.1:\(port)/postgres" }
    package var log: String { (try? String(contentsOfFile: "\(folder)/server/log", encoding: .utf8)) ?? "" }

    package init() throws {
        folder = try TemporaryFolder.make()
        watchdog = try Watchdog(folder: folder)
        programs = try TestStandby.findPrograms()
        guard let (socket, port) = LoopbackSocket.listen() else { throw TestFailure("no port") }
        close(socket)
        self.port = port
        let server = "\(folder)/server"
        guard mkdir(server, 0o755) == 0 else { throw TestFailure("no folder") }
        try "root\n".write(toFile: "\(server)/password", atomically: true, encoding: .utf8)
        try TestCommand.giveAway(server)
        try TestCommand.run(
            TestCommand.unprivileged([
                "\(programs)/initdb", "-D", "\(server)/data", "-U", "admin", "-A", "scram-sha-256", "--no-sync",
                "--pwfile", "\(server)/password",
            ]))
        try TestCommand.run(
            TestCommand.unprivileged([
                "\(programs)/pg_ctl", "start", "-s", "-w", "-D", "\(server)/data", "-l", "\(server)/log", "-o",
                "-c listen_addresses=127.0.0.1 -c port=\(port) -c unix_socket_directories=\(server) -c fsync=off"
                    + " -c log_statement=all",
            ]))
    }

    deinit {
        _ = try? TestCommand.run(
            TestCommand.unprivileged(["\(programs)/pg_ctl", "stop", "-m", "immediate", "-D", "\(folder)/server/data"]))
        TemporaryFolder.remove(folder)
    }

    package func connection() throws -> PostgresConnection { try PostgresConnection(PostgresTarget(url: url)) }
}
