import Base
import TestSupport

/// What a run over the same notifications left: records, and what the consumer was told.
struct CrashRecord: Sendable {
    /// Rows, without what tells when and how often they were written.
    let rows: Set<String>
    /// Event ids by their types, as the consumer got them.
    let told: [String: String]

    init(_ database: TestDatabase, _ consumer: Consumer) throws {
        rows = Set(
            try database.texts(
                """
                SELECT 'purchase ' || (to_jsonb(p) - 'version' - 'updated_ms' - 'wake_ms')::text FROM entitled.purchase p
                UNION ALL SELECT 'identifier ' || to_jsonb(i)::text FROM entitled.purchase_identifier i
                UNION ALL SELECT 'customer ' || c.original_app_user_id FROM entitled.customer c
                UNION ALL SELECT 'id ' || (to_jsonb(a) - 'first_seen_ms')::text FROM entitled.app_user_id a
                UNION ALL SELECT 'fact ' || f.original_transaction_id || ' ' || f.digest FROM entitled.fact f
                    WHERE f.kind NOT IN (1, 2) -- What is signed again has the row of whatever came first.
                UNION ALL SELECT 'event ' || e.id || ' ' || e.type FROM entitled.event e
                UNION ALL SELECT 'held ' || h.reason FROM entitled.held_notification h
                """))
        told = Dictionary(consumer.requests.map { ($0.id, $0.type) }) { first, _ in first }
    }

    /// Event ids that the consumer did not get although it got them of the other run.
    func losses(against clean: CrashRecord) -> [String] {
        clean.told.keys.filter { told[$0] == nil }.map { "event \($0) was not told" }
    }

    func differences(from clean: CrashRecord) -> [String] {
        let missing = clean.rows.subtracting(rows).map { "missing: \($0)" }
        let strange = rows.subtracting(clean.rows).map { "strange: \($0)" }
        return missing + strange + told.filter { clean.told[$0.key] != $0.value }.map { "told otherwise: \($0)" }
    }
}
