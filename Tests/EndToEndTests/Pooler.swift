import FoundationEssentials
import Glibc
import TestSupport

/// PgBouncer in transaction mode before a database, with one server connection for each role: whoever kept one for
/// longer than a transaction would keep everybody else waiting.
final class Pooler {
    private static let program = "/usr/sbin/pgbouncer"
    static var isInstalled: Bool { access(program, X_OK) == 0 }

    private let folder: String
    private let database: TestDatabase
    private let process: Program

    /// - Parameters:
    ///   - host: the folder of Postgres' socket.
    ///   - ignored: what it drops of a connection's start, where it would refuse the connection otherwise.
    init(_ database: TestDatabase, host: String, ignored: String = "") throws {
        self.database = database
        folder = try TemporaryFolder.make()
        let users = ["entitled", "entitled_ingest", "entitled_worker", "entitled_api"]
        try users.map { "\"\($0)\" \"\"\n" }.joined().write(
            toFile: "\(folder)/users.txt", atomically: true, encoding: .utf8)
        try """
        [databases]
        \(database.name) = host=\(host) port=5432 dbname=\(database.name)
        [pgbouncer]
        listen_addr =
        listen_port = 5432
        unix_socket_dir = \(folder)/socket
        auth_type = trust
        auth_file = \(folder)/users.txt
        pool_mode = transaction
        default_pool_size = 1
        max_client_conn = 100
        ignore_startup_parameters = \(ignored)

        """.write(toFile: "\(folder)/pgbouncer.ini", atomically: true, encoding: .utf8)
        guard mkdir("\(folder)/socket", 0o755) == 0 else { throw TestFailure("no folder") }
        try TestCommand.giveAway("\(folder)/socket")
        process = try Program(
            running: TestCommand.unprivileged([Pooler.program, "\(folder)/pgbouncer.ini"]), folder: folder)
        let socket = "\(folder)/socket/.s.PGSQL.5432"
        try eventually("PgBouncer listens; it said: \(process.log)") { access(socket, F_OK) == 0 }
    }

    deinit {
        process.kill()
        _ = try? process.wait()
        TemporaryFolder.remove(folder)
    }

    /// For one role, or for the owner.
    func url(_ user: String = "entitled") -> String {
        "postgresql://\(user)@/\(database.name)?host=\(folder)/socket"
    }
}
