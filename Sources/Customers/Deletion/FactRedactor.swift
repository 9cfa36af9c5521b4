import Base
import Database
import Postgres
import Subscriptions

/// The facts of a purchase without a person: each that names one is replaced by what is left of it, in its place.
enum FactRedactor {
    private static let select = """
        SELECT digest, kind, signed_ms, seq, payload, source, array_to_string(signed_again, ' ') AS again
        FROM entitled.fact
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND kind IN (1, 2, 4, 8)
        """
    private static let delete = """
        DELETE FROM entitled.fact WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
            AND digest = ANY($5::uuid[])
        """

    /// How many were replaced. The lane is held.
    ///
    /// - Parameters:
    ///   - action: the number of the deletion in the log.
    ///   - deleted: when it was, in ms.
    static func redact(
        _ key: PurchaseKey, _ names: Pseudonyms, isTheirs: Bool, until action: Int64, at deleted: Int64,
        on connection: PostgresConnection
    ) throws -> Int64 {
        let place: [PostgresValue] = [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
        ]
        var (old, new): ([[UInt8]], [FactTable.New]) = ([], [])
        for row in try connection.query(select, place) {
            guard let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int("kind"))) else { continue }
            let fact = FactRow(
                kind: kind, signedDate: try row.int("signed_ms"), header: nil, signature: nil,
                payload: try FactCodec.restore(try row.bytes("payload")),
                again: try FactRow.dates(row.optionalText("again")))
            let redacted = try fact.redacted(names, isTheirs: isTheirs, until: action, at: deleted)
            guard redacted.payload != fact.payload else { continue }
            old.append(try row.uuid("digest"))
            new.append(
                FactTable.New(
                    key: key, seq: try row.int("seq"), fact: redacted,
                    source: NotificationSource(code: try row.int("source"))))
        }
        guard !old.isEmpty else { return 0 }
        _ = try connection.query(delete, place + [.uuids(old)])
        // What was folded names the person still.
        try PurchaseFoldTable.remove([key], on: connection)
        try FactTable.insert(new, on: connection)
        try PurchaseFoldTable.foldAgain(key, on: connection)
        return Int64(old.count)
    }
}
