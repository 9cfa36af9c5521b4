import CLibpq
import Glibc

extension PostgresConnection {
    /// Sends all statements before it waits for the first answer (libpq's pipeline mode): one round trip.
    ///
    /// Outside a transaction the batch is one. The first error ends it: the statements behind it do not run, and a
    /// transaction begun before it has failed. Its message says which statement it was, counted from 1.
    package func queryBatch(_ statements: [PostgresStatement]) throws(PostgresError) -> [PostgresRows] {
        guard !statements.isEmpty else { return [] }
        guard statements.count > 1 else { return [try query(statements[0].sql, statements[0].parameters)] }
        var texts: [(sql: String, buffer: ParameterBuffer)] = []
        for statement in statements {
            texts.append((try text(of: statement.sql), try ParameterBuffer(statement.parameters)))
        }
        let isWithin = isInTransaction || PostgresConnection.isBegin(statements[0].sql)
        let commits = !isWithin || statements.contains { PostgresConnection.isCommit($0.sql) }

        // Non-blocking, or both sides could wait for the other with full socket buffers.
        guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else {
            isBroken = true
            throw PostgresError(.connection, PostgresError.firstLine(PQerrorMessage(handle)))
        }
        defer {
            if PQexitPipelineMode(handle) != 1 || PQsetnonblocking(handle, 0) != 0 { isBroken = true }
        }
        for (sql, buffer) in texts {
            let isQueued = buffer.withPointers { count, types, values, lengths, formats in
                PQsendQueryParams(handle, sql, count, types, values, lengths, formats, 1) == 1
            }
            guard isQueued else { throw brokenBatch(commits: commits) }
        }
        guard PQpipelineSync(handle) == 1 else { throw brokenBatch(commits: commits) }
        return try canceller.watching { () throws(PostgresError) in try answers(statements, commits: commits) }
    }

    private func brokenBatch(commits: Bool) -> PostgresError {
        isBroken = true
        return PostgresError(.connection, PostgresError.firstLine(PQerrorMessage(handle)), outcomeUnknown: commits)
    }

    /// Each statement's answer ends with a nil; a sync point of its own ends the batch.
    private func answers(_ statements: [PostgresStatement], commits: Bool) throws(PostgresError) -> [PostgresRows] {
        var rows: [PostgresRows] = []
        var failure: PostgresError?
        var position = 0
        var isSynchronized = false
        while !isSynchronized {
            guard exchange() else { throw failure ?? brokenBatch(commits: commits) }
            guard let result = PQgetResult(handle) else {
                position += 1
                guard position <= statements.count else { throw failure ?? brokenBatch(commits: commits) }
                continue
            }
            switch PQresultStatus(result) {
            case PGRES_PIPELINE_SYNC:
                PQclear(result)
                isSynchronized = true
            case PGRES_PIPELINE_ABORTED:
                PQclear(result)
            default:
                do throws(PostgresError) {
                    let sql = position < statements.count ? statements[position].sql : ""
                    rows.append(try accept(result, of: sql, commits: commits))
                } catch {
                    failure = failure ?? error.inStatement(position + 1)
                    guard isAlive else { throw failure ?? error }
                }
            }
        }
        if let failure { throw failure }
        // A batch outside a transaction commits at its end.
        try checkConfirmed()
        return rows
    }

    /// Writes what is queued and reads what comes until an answer is there; false if the connection is lost.
    private func exchange() -> Bool {
        while true {
            let left = PQflush(handle)
            guard left >= 0 else { return PQisBusy(handle) == 0 && PQstatus(handle) == CONNECTION_OK }
            if left == 0, PQisBusy(handle) == 0 { return true }
            let events = Int16(left == 1 ? POLLIN | POLLOUT : POLLIN)
            var descriptor = pollfd(fd: PQsocket(handle), events: events, revents: 0)
            guard poll(&descriptor, 1, -1) >= 0 || errno == EINTR else { return false }
            if descriptor.revents & ~Int16(POLLOUT) != 0, PQconsumeInput(handle) != 1 {
                // What arrived before the loss, such as the server's reason, is still to be read.
                return PQisBusy(handle) == 0
            }
        }
    }
}

extension PostgresError {
    fileprivate func inStatement(_ position: Int) -> PostgresError {
        PostgresError(
            kind, "statement \(position) of a batch: \(message)", sqlstate: sqlstate, constraint: constraint,
            outcomeUnknown: outcomeUnknown)
    }
}
