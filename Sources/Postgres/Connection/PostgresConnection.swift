import CLibpq
import Glibc
import Synchronization

/// One connection, used by one thread at a time; every call blocks until the server has answered.
///
/// Statements hold no state of the session, so that PgBouncer in transaction mode may stand between; those that are planned
/// once for a session (`read`) are run unplanned where it does.
package final class PostgresConnection {
    private static let serials = Atomic<UInt64>(0)
    private static let sent = Atomic<UInt64>(0)

    /// How many statements this process has sent to databases: those of a batch one by one, BEGIN and COMMIT included, scripts not.
    package static var statements: UInt64 { sent.load(ordering: .relaxed) }

    let handle: OpaquePointer
    /// Tells this connection from every other one of this process, also from those that are gone.
    package let serial = PostgresConnection.serials.wrappingAdd(1, ordering: .relaxed).newValue
    let canceller: PostgresCanceller
    /// Set when the protocol is in a state that no statement gets out of.
    var isBroken = false
    private var planned = PlannedStatements()
    /// The shards of a cluster in which lanes lie, by their numbers; none on one Postgres (see `findShards`).
    package internal(set) var shards: [Int64] = []
    /// The servers that have these shards, by the cluster's numbers, as it was when they were looked for: shards move.
    package internal(set) var servers: [Int64: Int64] = [:]
    private let notices = PostgresNotices()

    /// Called with each connection of this process once it is open. Nil in programs, which look at their connections as they need
    /// them; suites that run on a cluster have each connection know of it.
    package static let opening = Mutex<(@Sendable (PostgresConnection) -> Void)?>(nil)

    /// Connects; blocks for at most the connect timeout for each host.
    ///
    /// - Parameters:
    ///   - canceller: what another thread cancels this connection's statements with.
    ///   - isWatched: whether `StatementWaits` tells what it waits for.
    package init(
        _ target: PostgresTarget, canceller: PostgresCanceller = PostgresCanceller(), isWatched: Bool = true
    ) throws(PostgresError) {
        let handle = try PostgresConnection.connect(try target.keywords())
        // Otherwise libpq prints the server's notices to standard error.
        PQsetNoticeReceiver(
            handle, { PostgresNotices.receive($1, by: $0) }, Unmanaged.passUnretained(notices).toOpaque())
        self.handle = handle
        self.canceller = canceller
        canceller.follow(handle)
        if isWatched { StatementWaits.follow(self, target) }
        PostgresConnection.opening.withLock { $0 }?(self)
    }

    deinit {
        canceller.follow(nil)
        PQfinish(handle)
    }

    private static func connect(_ keywords: [(name: String, value: String)]) throws(PostgresError) -> OpaquePointer {
        if var race = HostRace(keywords) { return try race.run() }
        guard let handle = withLists(of: keywords, { PQconnectdbParams($0, $1, 0) }) else {
            throw PostgresError(.connection, "out of memory")
        }
        guard PQstatus(handle) == CONNECTION_OK else {
            defer { PQfinish(handle) }
            throw PostgresError(.connection, PostgresError.firstLine(PQerrorMessage(handle)))
        }
        return handle
    }

    /// Keywords as libpq takes them: lists of names and of values, each with a null at its end.
    static func withLists<Result>(
        of keywords: [(name: String, value: String)],
        _ body: ([UnsafePointer<CChar>?], [UnsafePointer<CChar>?]) -> Result
    ) -> Result {
        let names = keywords.map { strdup($0.name) }
        let values = keywords.map { strdup($0.value) }
        defer {
            for text in names + values { free(text) }
        }
        return body(names.map { UnsafePointer($0) } + [nil], values.map { UnsafePointer($0) } + [nil])
    }

    // MARK: - Statements

    /// Runs one statement. Parameters and results travel in binary.
    @discardableResult
    package func query(_ sql: String, _ parameters: [PostgresValue] = []) throws(PostgresError) -> PostgresRows {
        let sql = try text(of: sql)
        let buffer = try ParameterBuffer(parameters)
        let commits = !isInTransaction || PostgresConnection.isCommit(sql)
        return try canceller.watching { () throws(PostgresError) in
            let isSent = buffer.withPointers { count, types, values, lengths, formats in
                PQsendQueryParams(handle, sql, count, types, values, lengths, formats, 1) == 1
            }
            return try accept(isSent ? answer() : nil, of: sql, commits: commits)
        }
    }

    /// Runs a statement that only reads, as `query` does, but has the server plan it once for the session: for what is asked
    /// so often, and answered so fast, that planning would be half of the work.
    package func read(_ sql: String, _ parameters: [PostgresValue] = []) throws(PostgresError) -> PostgresRows {
        // An error would end a transaction.
        guard planned.isKept, !isInTransaction else { return try query(sql, parameters) }
        let sql = try text(of: sql)
        let buffer = try ParameterBuffer(parameters)
        do throws(PostgresError) {
            let name = PlannedStatements.name(of: sql)
            if !planned.knows(name) { try plan(sql, as: name, buffer) }
            return try canceller.watching { () throws(PostgresError) in
                let isSent = buffer.withPointers { count, _, values, lengths, formats in
                    PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1) == 1
                }
                return try accept(isSent ? answer() : nil, of: sql, commits: false)
            }
        } catch {
            guard let sqlstate = error.sqlstate, PlannedStatements.lost.contains(sqlstate) else { throw error }
            planned.giveUp()
            return try query(sql, parameters)
        }
    }

    private func plan(_ sql: String, as name: String, _ buffer: ParameterBuffer) throws(PostgresError) {
        do throws(PostgresError) {
            _ = try canceller.watching { () throws(PostgresError) in
                let isSent = buffer.withPointers { count, types, _, _, _ in
                    PQsendPrepare(handle, name, sql, count, types) == 1
                }
                return try accept(isSent ? answer() : nil, of: sql, commits: false)
            }
        } catch {
            guard error.sqlstate == PlannedStatements.duplicate else { throw error }
        }
        planned.add(name)
    }

    /// Runs several statements, separated by semicolons, without parameters: for migrations.
    ///
    /// Without BEGIN of its own the script is one transaction.
    package func execute(script: String) throws(PostgresError) {
        try check(script)
        _ = try accept(PQsendQuery(handle, script) == 1 ? answer() : nil, of: script, commits: true)
    }

    /// The role whose rights the connection has.
    package func currentUser() throws(PostgresError) -> String {
        try query("SELECT current_user::text AS role").one().text("role")
    }

    /// The server's version, such as 150020 for 15.20.
    package var serverVersion: Int { Int(PQserverVersion(handle)) }

    /// Of the server, as the URL names it; a folder for a unix socket.
    package var host: String { PQhost(handle).map { String(cString: $0) } ?? "" }
    package var port: String { PQport(handle).map { String(cString: $0) } ?? "" }

    /// Whether a transaction was begun and has not ended; a failed one counts.
    package var isInTransaction: Bool {
        let status = PQtransactionStatus(handle)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }

    /// False once the connection is lost; then only a new one helps.
    package var isAlive: Bool {
        !isBroken && PQstatus(handle) == CONNECTION_OK
    }

    /// Whether the server closed the connection while it was idle; costs one poll.
    func wasClosedWhileIdle() -> Bool {
        var descriptor = pollfd(fd: PQsocket(handle), events: Int16(POLLIN), revents: 0)
        guard poll(&descriptor, 1, 0) > 0 else { return !isAlive }
        // A goodbye may come before the end, and is read as a message of its own.
        while PQconsumeInput(handle) == 1, PQstatus(handle) == CONNECTION_OK {
            descriptor.revents = 0
            guard poll(&descriptor, 1, 0) > 0 else { return !isAlive }
        }
        return true
    }

    /// What the server is sent; asked once for each statement that is.
    func text(of sql: String) throws(PostgresError) -> String {
        try check(sql)
        PostgresConnection.sent.wrappingAdd(1, ordering: .relaxed)
        return isCluster ? ClusterText.of(sql) : sql
    }

    // MARK: - Answers

    func check(_ sql: String) throws(PostgresError) {
        guard !sql.utf8.contains(0) else { throw PostgresError(.encoding, "the statement contains U+0000") }
    }

    /// Waits for all results of what was sent; the first error, otherwise the last result.
    ///
    /// `PQexec` would give the last one, which hides the server's reason for closing the connection.
    private func answer() -> OpaquePointer? {
        var kept: OpaquePointer?
        while let result = PQgetResult(handle) {
            if let kept, PQresultStatus(kept) == PGRES_FATAL_ERROR {
                PQclear(result)
            } else {
                PQclear(kept)
                kept = result
            }
            // COPY would never end.
            if let kept, PostgresConnection.isCopy(kept) { break }
        }
        return kept
    }

    /// Rows of a good answer; otherwise throws what the server or libpq says.
    ///
    /// - Parameter commits: whether the statement commits if it succeeds, so that a lost answer leaves that open.
    func accept(
        _ result: OpaquePointer?, of statement: String, commits: Bool
    ) throws(PostgresError) -> PostgresRows {
        guard let result else { throw lost(commits: commits) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_EMPTY_QUERY, PGRES_PIPELINE_SYNC:
            let rows = PostgresRows(result, of: statement)
            try checkConfirmed()
            return rows
        case _ where PostgresConnection.isCopy(result):
            PQclear(result)
            isBroken = true
            throw PostgresError(.query, "COPY is not supported here", sqlstate: "0A000")
        default:
            defer { PQclear(result) }
            throw failure(result, commits: commits)
        }
    }

    /// Throws where a commit was answered that no synchronous standby has: a failover would take it back.
    func checkConfirmed() throws(PostgresError) {
        guard notices.takeUnconfirmed() else { return }
        isBroken = true
        throw PostgresError(
            .connection,
            "the wait for a synchronous standby was cancelled: the commit is on the primary alone",
            outcomeUnknown: true)
    }

    private static func isCopy(_ result: OpaquePointer) -> Bool {
        [PGRES_COPY_IN, PGRES_COPY_OUT, PGRES_COPY_BOTH].contains(PQresultStatus(result))
    }

    private func lost(commits: Bool) -> PostgresError {
        isBroken = true
        return PostgresError(
            .connection, PostgresError.firstLine(PQerrorMessage(handle)), outcomeUnknown: commits)
    }

    private func failure(_ result: OpaquePointer, commits: Bool) -> PostgresError {
        let sqlstate = PostgresConnection.field("C", result)
        let message = PostgresConnection.field("M", result) ?? PostgresError.firstLine(PQresultErrorMessage(result))
        // The connection of a coordinator to a node failed, for example: the session with the coordinator goes on. Not so after
        // a violation of the protocol (08P01), which leaves the session in doubt.
        let isOfOtherServer =
            ["08000", "08001", "08003", "08006"].contains(sqlstate) && PostgresConnection.field("V", result) == "ERROR"
        let isLost =
            PQstatus(handle) != CONNECTION_OK
            || sqlstate.map { PostgresCause(sqlstate: $0).endsSession && !isOfOtherServer } ?? true
        if isLost { isBroken = true }
        let isUnknown = sqlstate.map(PostgresError.unknownOutcomes.contains) ?? false
        return PostgresError(
            isLost ? .connection : .query, String(message.prefix(500)), sqlstate: sqlstate,
            constraint: PostgresConnection.field("n", result),
            outcomeUnknown: isUnknown || ((isLost || isOfOtherServer) && commits))
    }

    /// A field of an error, by its letter in the protocol (manual, 55.8).
    private static func field(_ code: Unicode.Scalar, _ result: OpaquePointer) -> String? {
        PQresultErrorField(result, Int32(code.value)).map { String(cString: $0) }
    }

    static func isCommit(_ sql: String) -> Bool {
        let word = sql.drop { $0.isWhitespace }.prefix { $0.isLetter }
        return ["commit", "end"].contains(word.lowercased())
    }

    static func isBegin(_ sql: String) -> Bool {
        let word = sql.drop { $0.isWhitespace }.prefix { $0.isLetter }
        return ["begin", "start"].contains(word.lowercased())
    }
}
