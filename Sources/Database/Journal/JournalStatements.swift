/// The statements that read every row of a kind of journal entry: `id`, `at_ms` and `entry`, and the `payload` of facts.
struct JournalStatements {
    let extent: JournalQuery.Extent

    /// Actions that are looked at once more: numbers are drawn in another order than transactions commit.
    private static let actionOverlap: Int64 = 100_000
    /// Facts of this much time are looked at once more, in ms.
    private static let factOverlap: Int64 = 3_600_000

    func all(_ kind: JournalEntry.Kind) -> String {
        switch kind {
        case .sealingKey: JournalStatements.sealingKeys
        case .endpoint: "\(JournalStatements.endpoints) ORDER BY t.created_ms, t.id"
        case .apiKey: JournalStatements.apiKeys
        case .consoleUser: JournalStatements.consoleUsers
        case .operatorKey: JournalStatements.operatorKeys
        case .deletion: deletions
        case .customer: customers
        case .action: actions
        case .fact: facts
        case .attribute: attributes
        }
    }

    // MARK: - Of all time

    private static let sealingKeys = """
        SELECT NULL::text AS id, t.created_ms AS at_ms, row_to_json(t)::text AS entry FROM entitled.sealing_key t
        """

    private static let apiKeys = """
        SELECT NULL::text AS id, t.created_ms AS at_ms, (to_jsonb(t) - 'last_used_ms')::text AS entry
        FROM entitled.api_key t
        """

    private static let consoleUsers = """
        SELECT NULL::text AS id, coalesce(t.ended_ms, t.created_ms) AS at_ms, json_build_object(
            'name', t.name, 'created_ms', t.created_ms, 'ended_ms', t.ended_ms)::text AS entry
        FROM entitled.console_user t
        """

    private static let operatorKeys = """
        SELECT NULL::text AS id, t.ended_ms AS at_ms, json_build_object('id', t.id, 'ended_ms', t.ended_ms)::text AS entry
        FROM entitled.operator_key t WHERE t.ended_ms IS NOT NULL
        """

    /// With its secrets, so that one entry says how the endpoint is.
    static let endpoints = """
        SELECT NULL::text AS id, t.created_ms AS at_ms,
            (to_jsonb(t) - 'paused_until_ms' || jsonb_build_object('secrets', (
                SELECT coalesce(jsonb_agg(to_jsonb(s) ORDER BY s.kind, s.created_ms), '[]')
                FROM entitled.endpoint_secret s WHERE s.endpoint = t.id)))::text AS entry
        FROM entitled.endpoint t
        """

    // MARK: - Of the extent

    /// Whether a row was written since the mark.
    private var changed: String { isChanged("t") ?? "true" }

    private func isChanged(_ table: String) -> String? {
        extent.mark.map { "age(\(table).xmin) <= age('\($0.transaction & 0xffff_ffff)'::xid)" }
    }

    private func isSince(_ column: String) -> String { extent.since.map { "\(column) >= \($0)" } ?? "true" }

    private var deletions: String {
        """
        SELECT NULL::text AS id, t.at_ms, json_build_object('number', t.id, 'policy', t.policy, 'at_ms', t.at_ms,
            'actor', t.actor, 'reason', t.reason, 'action', t.action, 'ids', t.ids,
            'is_swept', t.state <> 'sweeping', 'hashes', (
                SELECT coalesce(json_agg(encode(i.hash, 'hex') ORDER BY i.hash), '[]')
                FROM entitled.deletion_id i WHERE i.deletion = t.id))::text AS entry
        FROM entitled.deletion t WHERE \(isSince("t.at_ms")) AND \(changed) ORDER BY t.id
        """
    }

    private var customers: String {
        let customerChanged = isChanged("c").map { "OR \($0)" } ?? ""
        return """
            SELECT NULL::text AS id, greatest(t.first_seen_ms, \(extent.seen)) AS at_ms, json_build_object(
                'app_user_id', t.id, 'first_seen_ms', t.first_seen_ms, 'of_account', t.of_account,
                'offering_override', c.offering_override, 'offering_override_ms', c.offering_override_ms,
                'original_application_version', c.original_application_version,
                'app_purchased_ms', c.app_purchased_ms, 'app_environment', c.app_environment)::text AS entry
            FROM entitled.app_user_id t
            LEFT JOIN entitled.customer c ON c.original_app_user_id = t.id
            WHERE \(isSince("t.first_seen_ms")) AND (\(changed) \(customerChanged))
            """
    }

    private var actions: String {
        let least = extent.mark.map { max(0, $0.action - JournalStatements.actionOverlap) } ?? -1
        return """
            SELECT 'action/' || t.seq || '/' || t.at_ms AS id, t.at_ms, row_to_json(t)::text AS entry
            FROM entitled.action t
            WHERE t.seq > \(least) AND \(isSince("t.at_ms")) AND \(changed) ORDER BY t.seq
            """
    }

    private var facts: String {
        let instants = [
            extent.since, extent.mark == nil ? nil : extent.seen - JournalStatements.factOverlap,
        ].compactMap { $0 }
        let least = instants.max().map { SequenceGenerator.least(at: $0) } ?? 0
        return """
            SELECT NULL::text AS id, t.signed_ms AS at_ms, json_build_object('app', t.app, 'environment', t.environment,
                'original_transaction_id', t.original_transaction_id, 'kind', t.kind, 'signed_ms', t.signed_ms,
                'seq', t.seq, 'source', t.source)::text AS entry, t.payload
            FROM entitled.fact t
            WHERE t.kind IN (4, 6, 7, 8) AND t.seq >= \(least) /* cluster: for: */AND \(changed)/* end */
            """
    }

    /// Their times are those of devices.
    private var attributes: String {
        """
        SELECT NULL::text AS id, greatest(a.first_seen_ms, \(extent.seen)) AS at_ms,
            row_to_json(t)::text AS entry
        FROM entitled.customer_attribute t LEFT JOIN entitled.app_user_id a ON a.id = t.app_user_id
        WHERE \(changed)
        """
    }
}
