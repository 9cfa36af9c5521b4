import Postgres
import Testing

/// Written by hand, beside the table of the program: a code that changes its causes or its answers is a decision to be made here, too.
@Suite struct PostgresErrorQuestionsTests {
    enum Question: String, CaseIterable, Sendable {
        case retryable, contention, victim, catalogueContention, cancelled, timeout, ofStandby, ofData, forbidden
        case undefined

        func isTrue(of error: PostgresError) -> Bool {
            switch self {
            case .retryable: error.isRetryable
            case .contention: error.isContention
            case .victim: error.isVictim
            case .catalogueContention: error.isCatalogueContention
            case .cancelled: error.isCancelled
            case .timeout: error.isTimeout
            case .ofStandby: error.isOfStandby
            case .ofData: error.isOfData
            case .forbidden: error.isForbidden
            case .undefined: error.isUndefined
            }
        }
    }

    struct Row: Sendable {
        let state: String
        let fault: PostgresFault
        let yes: Set<Question>

        init(_ state: String, _ fault: PostgresFault, _ yes: Question...) {
            (self.state, self.fault, self.yes) = (state, fault, Set(yes))
        }
    }

    static let rows: [Row] = [
        // connection_failure, transaction_resolution_unknown; too_many_connections; admin_shutdown, crash_shutdown,
        // cannot_connect_now, database_dropped, idle_session_timeout.
        Row("08006", .away, .retryable), Row("08007", .away, .retryable), Row("53300", .away, .retryable),
        Row("57P01", .away, .retryable), Row("57P02", .away, .retryable), Row("57P03", .away, .retryable),
        Row("57P04", .away, .retryable), Row("57P05", .away, .retryable),
        // read_only_sql_transaction.
        Row("25006", .away, .retryable, .ofStandby),
        // idle_in_transaction_session_timeout, transaction_timeout.
        Row("25P03", .passing, .retryable, .timeout), Row("25P04", .passing, .retryable, .timeout),
        // query_canceled; the rest of its class.
        Row("57014", .passing, .retryable, .cancelled, .timeout), Row("57000", .setup),
        // serialization_failure, deadlock_detected, lock_not_available.
        Row("40001", .passing, .retryable, .contention, .victim, .catalogueContention),
        Row("40P01", .passing, .retryable, .contention, .victim, .catalogueContention),
        Row("55P03", .passing, .retryable, .contention, .catalogueContention),
        // transaction_rollback, statement_completion_unknown; object_in_use; the rest of its class.
        Row("40000", .passing, .retryable), Row("40003", .passing, .retryable), Row("55006", .passing, .retryable),
        Row("55000", .setup),
        // disk_full, out_of_memory; io_error.
        Row("53100", .passing, .retryable), Row("53200", .passing, .retryable), Row("58030", .passing, .retryable),
        // in_failed_sql_transaction.
        Row("25P02", .passing),
        // internal_error, data_corrupted, index_corrupted; undefined_file.
        Row("XX000", .passing, .catalogueContention), Row("XX001", .passing, .ofData), Row("XX002", .passing),
        Row("58P01", .passing),
        // cardinality_violation; character_not_in_repertoire; unique_violation; program_limit_exceeded.
        Row("21000", .work, .ofData), Row("22021", .work, .ofData), Row("23505", .work, .ofData),
        Row("54000", .work, .ofData),
        // insufficient_privilege; undefined_table, undefined_column, invalid_schema_name.
        Row("42501", .setup, .forbidden), Row("42P01", .setup, .undefined), Row("42703", .setup, .undefined),
        Row("3F000", .setup, .undefined),
        // What nothing is said of.
        Row("42601", .setup), Row("0A000", .setup), Row("26000", .setup),
    ]

    @Test func `every code that is judged has one answer to each question`() {
        for row in PostgresErrorQuestionsTests.rows {
            let error = PostgresError(.query, "no", sqlstate: row.state)
            #expect(error.fault == row.fault, "\(row.state)")
            #expect(Set(Question.allCases.filter { $0.isTrue(of: error) }) == row.yes, "\(row.state)")
        }
    }

    @Test func `the table here has each code of the program's`() {
        for entry in PostgresCause.table {
            #expect(
                PostgresErrorQuestionsTests.rows.contains { row in
                    row.state.hasPrefix(entry.code) && PostgresCause(sqlstate: row.state) == entry.cause
                }, "\(entry.code)")
        }
        let found = Set(PostgresErrorQuestionsTests.rows.map { PostgresCause(sqlstate: $0.state) })
        #expect(found == Set(PostgresCause.allCases))
    }

    @Test func `without an answer of a server the kind decides`() {
        let faults: [(PostgresError.Kind, PostgresFault, Set<Question>)] = [
            (.connection, .away, [.retryable]), (.query, .setup, []), (.configuration, .setup, []),
            (.encoding, .work, [.ofData]), (.decoding, .work, [.ofData]),
        ]
        for (kind, fault, yes) in faults {
            let error = PostgresError(kind, "no")
            #expect(error.cause == nil && error.fault == fault && error.isConnectionLost == (kind == .connection))
            #expect(Set(Question.allCases.filter { $0.isTrue(of: error) }) == yes, "\(kind)")
        }
    }

    /// It is this process that stood still: nothing says that the server is away.
    @Test func `a session that the server ended for standing still is lost, and the server is not away`() {
        let error = PostgresError(.connection, "idle", sqlstate: "25P03")
        #expect(error.isConnectionLost && error.isTimeout && error.fault == .passing)
    }

    private struct Damaged: Error {}

    @Test func `an error of anything else lies in the work`() {
        let (other, lost): (any Error, any Error) = (Damaged(), PostgresError(.connection, "gone"))
        #expect(other.fault == .work && !other.isConnectionLost && !other.isTimeout)
        #expect(lost.fault == .away && lost.isConnectionLost)
    }
}
