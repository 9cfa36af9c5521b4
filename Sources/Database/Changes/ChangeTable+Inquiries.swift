import Base
import Postgres

/// Changes by which operators ask Apple something: held for the time of a request, and gone on with where they were.
extension ChangeTable {
    /// An inquiry that a worker holds.
    package struct Held: Sendable {
        package let change: Change
        /// Where it is, as the worker that was at it last wrote it; empty at the beginning.
        package let cursor: [String]
        /// Behind each other, without a part that came.
        package let failures: Int64
    }

    /// The one that has waited longest goes first: each part of a long one puts it behind the others.
    static let selectNextInquiry = next(by: "attempts, lease_until NULLS FIRST, id")

    /// The next that is to be gone on with and that no other worker is at; it is locked until the transaction ends.
    package static func takeInquiry(on connection: PostgresConnection) throws -> Change? {
        let kinds = ChangeKind.inquiries
        return try connection.query(
            selectNextInquiry, [.texts(kinds.map(\.rawValue)), .texts(kinds.map(\.rawValue))]
        ).first.map(Change.init)
    }

    private static let setHolder = """
        UPDATE entitled.job SET driver = $2, lease_until = \(ServerTime.instant) + $3 * interval '1 ms' WHERE id = $1
        RETURNING cursor, attempts
        """

    /// Notes who asks for one that was taken.
    ///
    /// - Parameters:
    ///   - holder: 16 bytes; another worker takes it over once the time is over.
    ///   - time: ms.
    package static func hold(
        _ change: Change, by holder: [UInt8], for time: Int64, on connection: PostgresConnection
    ) throws -> Held {
        let row = try connection.query(setHolder, [.int8(change.id), .uuid(holder), .int8(time)]).one()
        return try held(change, row)
    }

    private static let selectHeld = """
        SELECT \(Change.columns), cursor, attempts FROM entitled.job WHERE id = $1 AND state = 'running' AND driver = $2
        FOR NO KEY UPDATE
        """

    /// One that the worker holds, locked until the transaction ends; nil: it is over, or another worker took it over.
    package static func held(
        _ id: Int64, by holder: [UInt8], on connection: PostgresConnection
    ) throws -> Held? {
        try connection.query(selectHeld, [.int8(id), .uuid(holder)]).first.map { try held(try Change($0), $0) }
    }

    private static let selectWaiting = """
        SELECT \(Change.columns), cursor, attempts FROM entitled.job
        WHERE id = $1 AND state = 'running' AND (lease_until IS NULL OR lease_until <= clock_timestamp())
        FOR NO KEY UPDATE
        """

    /// One that was to be gone on with, locked until the transaction ends; nil: it is over, or another worker holds it.
    package static func waiting(_ id: Int64, on connection: PostgresConnection) throws -> Held? {
        try connection.query(selectWaiting, [.int8(id)]).first.map { try held(try Change($0), $0) }
    }

    private static func held(_ change: Change, _ row: PostgresRow) throws -> Held {
        Held(
            change: change, cursor: try row.texts("cursor").compactMap { $0 }, failures: try row.int("attempts"))
    }

    /// How one that is not over goes on.
    package enum Continuation: Sendable {
        /// By the worker that holds it.
        case held
        /// By any, after so many ms.
        case free(after: Int64)
    }

    /// Who waits is said by `lease_until` alone; `attempts` are behind each other and put it behind the others.
    private static let going = """
        UPDATE entitled.job SET cursor = $2, attempts = $3, updated_ms = t.now - 1000 * $3,
            driver = CASE WHEN $4::int8 IS NULL THEN driver END,
            lease_until = CASE WHEN $4::int8 IS NULL THEN lease_until ELSE t.at + $4::int8 * interval '1 ms' END
        FROM (
            SELECT \(ServerTime.instant) AS at, (extract(epoch FROM \(ServerTime.instant)) * 1000)::int8 AS now
        ) t
        WHERE id = $1
        """

    /// Notes how far one is that is held.
    package static func goOn(
        _ change: Change, at cursor: [String], _ continuation: Continuation, failures: Int64,
        on connection: PostgresConnection
    ) throws {
        var wait: Int64?
        if case .free(let time) = continuation { wait = time }
        _ = try connection.query(
            going, [.int8(change.id), .texts(cursor), .int8(failures), .int8(wait)])
    }

    private static let freeing = """
        UPDATE entitled.job SET driver = NULL, lease_until = \(ServerTime.instant) + $2 * interval '1 ms' WHERE id = $1
        """

    /// Lets any worker go on with it after so many ms.
    package static func letGo(of change: Change, for time: Int64, on connection: PostgresConnection) throws {
        _ = try connection.query(freeing, [.int8(change.id), .int8(time)])
    }

    // MARK: - How many

    /// So many questions to Apple are under way that another one is not taken: its rates are limited.
    package struct TooManyInquiries: Error, CustomStringConvertible {
        /// Whether they are the operator's own.
        package let isOwn: Bool

        package var description: String {
            isOwn
                ? "\(ChangeTable.mostInquiries) of your questions to Apple are under way; wait until one is answered."
                : "\(ChangeTable.mostInquiriesOfAll) questions of operators to Apple are under way; wait until some are answered."
        }
    }

    /// Inquiries that one operator may have under way, and all operators together.
    package static let mostInquiries: Int64 = 16
    package static let mostInquiriesOfAll: Int64 = 64

    private static let countInquiries = """
        SELECT count(*) AS all_count, count(*) FILTER (WHERE made_by = $1) AS own_count FROM entitled.job
        WHERE state = 'running' AND kind = ANY($2::text[]) AND idempotency_key IS NOT NULL AND id < $3
        """

    private static func room(
        for user: String, before id: Int64, on connection: PostgresConnection
    ) throws -> TooManyInquiries? {
        let row = try connection.query(
            countInquiries, [.text(user), .texts(ChangeKind.inquiries.map(\.rawValue)), .int8(id)]
        ).one()
        if try row.int("own_count") >= mostInquiries { return TooManyInquiries(isOwn: true) }
        return try row.int("all_count") >= mostInquiriesOfAll ? TooManyInquiries(isOwn: false) : nil
    }

    /// In the transaction in which the operator's row is locked.
    static func checkInquiries(of user: String, on connection: PostgresConnection) throws {
        if let error = try room(for: user, before: .max, on: connection) { throw error }
    }

    /// Why one is not answered that should not have been taken: at the same moment others were, or another program than the
    /// console wrote it as its role.
    package static func objection(
        toInquiry change: Change, on connection: PostgresConnection
    ) throws -> String? {
        try room(for: change.user, before: change.id, on: connection).map { error in
            error.isOwn
                ? "\(mostInquiries) earlier questions of the operator to Apple were under way."
                : "\(mostInquiriesOfAll) earlier questions of operators to Apple were under way."
        }
    }
}
