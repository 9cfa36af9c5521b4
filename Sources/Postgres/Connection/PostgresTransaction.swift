extension PostgresConnection {
    /// BEGIN, the body, COMMIT; ROLLBACK and the body's error if it throws.
    ///
    /// Without an error the transaction is committed. With `outcomeUnknown` it may be: the connection was lost while it
    /// committed. A body that ended the transaction itself, with a COMMIT at the end of a batch, is not committed
    /// again.
    package func transaction<Result>(_ body: () throws -> Result) throws -> Result {
        try transaction(opening: []) { _ in try body() }
    }

    /// The same, with the first statements sent together with BEGIN, for one round trip; the body gets their rows.
    package func transaction<Result>(
        opening: [PostgresStatement], _ body: ([PostgresRows]) throws -> Result
    ) throws -> Result {
        guard !isInTransaction else { throw PostgresError(.encoding, "a transaction has already begun") }
        let value: Result
        do {
            let answers = try queryBatch([PostgresStatement("BEGIN")] + opening)
            value = try body(Array(answers.dropFirst()))
        } catch {
            rollBack()
            throw error
        }
        if isInTransaction {
            try commit()
        } else if !isAlive {
            // The body swallowed the loss of the connection, and with it the transaction.
            throw PostgresError(.connection, "the connection was lost in the transaction")
        }
        return value
    }

    /// The body in the transaction that has begun, whose end decides about it, too; where none has, in one of its own.
    ///
    /// What the body throws leaves the transaction that had begun as it is: its caller rolls it back.
    package func joinedTransaction<Result>(_ body: () throws -> Result) throws -> Result {
        isInTransaction ? try body() : try transaction(body)
    }

    private func commit() throws(PostgresError) {
        let answer = try query("COMMIT")
        // Postgres answers COMMIT of a failed transaction with success and the tag ROLLBACK.
        guard answer.tag == "COMMIT" else {
            throw PostgresError(.query, "the transaction had failed and was rolled back", sqlstate: "25P02")
        }
    }

    private func rollBack() {
        guard isAlive, isInTransaction else { return }
        do {
            try query("ROLLBACK")
        } catch {
            isBroken = true
        }
    }
}
