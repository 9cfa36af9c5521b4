import Base
import Postgres

extension DeliveryBulk {
    private static let outcome = """
        /* cluster: SELECT state, least(count(*), $3) AS count FROM entitled.delivery
        WHERE job = $1 AND state = ANY($2::int2[]) GROUP BY state
        for: */SELECT s.state, few.count FROM unnest($2::int2[]) AS s(state) CROSS JOIN LATERAL (
            SELECT count(*) FROM (
                SELECT FROM entitled.delivery WHERE job = $1 AND state = s.state LIMIT $3
            ) d
        ) few WHERE few.count > 0/* end */
        """

    /// How the deliveries stand that a job sent again or gave up last.
    ///
    /// - Parameter limit: so many of each state are counted at most.
    package static func outcome(
        ofJob job: Int64, upTo limit: Int64, on connection: PostgresConnection
    ) throws -> [DeliveryState: Int64] {
        var counts: [DeliveryState: Int64] = [:]
        let codes = DeliveryState.allCases.map(\.rawValue) + [DeliveryCode.blocked.rawValue]
        for row in try connection.query(outcome, [.int8(job), .int2s(codes), .int8(limit)]) {
            let code: DeliveryCode = try row.value("state")
            let state: DeliveryState = try code == .blocked ? .pending : row.value("state")
            counts[state] = try min(limit, counts[state, default: 0] + row.int("count"))
        }
        return counts
    }
}
