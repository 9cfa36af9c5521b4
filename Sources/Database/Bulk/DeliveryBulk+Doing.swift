import Base
import Postgres

extension DeliveryBulk {
    /// Sends the rows of a page again, or gives them up; in the transaction that writes down where the page ends. Each of them
    /// names the job then.
    ///
    /// - Parameters:
    ///   - now: ms since 1970; after the end of the selection, so that none is in it any more.
    package func apply(
        _ rows: [Row], job: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> BulkDone {
        var done = BulkDone()
        for row in rows { if let skip = row.skip { done.skip(skip) } }
        let wanted = rows.filter { $0.skip == nil }
        switch action {
        case .giveUp: try giveUp(wanted, job: job, now: now, &done, on: connection)
        case .resend: try resend(wanted, job: job, now: now, &done, on: connection)
        }
        return done
    }

    private func resend(
        _ rows: [Row], job: Int64, now: Int64, _ done: inout BulkDone, on connection: PostgresConnection
    ) throws {
        let groups = Dictionary(grouping: rows, by: \.endpoint).sorted { $0.key < $1.key }
        let endpoints = try EndpointTable.list(on: connection)
        let byID = Dictionary(endpoints.map { ($0.id, $0) }) { first, _ in first }
        // Lanes are locked before everything else, as their owners do.
        let ordered = groups.filter { byID[$0.key]?.ordering == .purchase }
        if !ordered.isEmpty { try Fence.lock(Set(ordered.flatMap { $0.value.map(\.id.lane) }), on: connection) }
        for (id, rows) in groups {
            guard let endpoint = byID[id], let locked = try EndpointTable.lock(id, on: connection) else {
                done.skip(.endpointRemoved, rows.count)
                continue
            }
            guard locked.disabledReason == nil else {
                done.skip(.endpointDisabled, rows.count)
                continue
            }
            // In another order since it was read: its lanes are not locked.
            guard locked.ordering == endpoint.ordering else {
                done.skip(.changed, rows.count)
                continue
            }
            let put = try DeliveryReplay.queue(
                known: rows.map { DeliveryReplay.Ended(id: $0.id, event: $0.event) }, in: [.dead, .delivered], new: [],
                to: locked, job: job, now: now, on: connection)
            done.queued += Int64(put.queued)
            done.skip(.notKept, put.gone)
            done.skip(.changed, rows.count - put.queued - put.gone)
        }
    }

    /// What another transaction holds is left as it is: workers settle many rows in an order of their own.
    private static let give = """
        WITH held AS MATERIALIZED (
            SELECT d.lane, d.id FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */
                AND d.id = t.id AND d.state IN (\(DeliveryCode.open))
            ORDER BY d.lane, d.id FOR NO KEY UPDATE OF d SKIP LOCKED
        )
        UPDATE entitled.delivery d SET state = \(DeliveryCode.dead), reason = 'given up by an operator', next_ms = $3,
            job = $4
        FROM held
        WHERE d.lane = held.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = held.id AND d.state IN (\(DeliveryCode.open))
        RETURNING d.lane, d.endpoint, d.ordered_by
        """

    /// Also what is in flight: only an arrival counts then.
    private func giveUp(
        _ rows: [Row], job: Int64, now: Int64, _ done: inout BulkDone, on connection: PostgresConnection
    ) throws {
        guard !rows.isEmpty else { return }
        // What follows one in its order is freed: their lanes are held.
        let ids = rows.map(\.id)
        let ordered = try connection.query(
            """
            SELECT DISTINCT d.lane FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
            JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */
                AND d.id = t.id WHERE d.ordered_by IS NOT NULL
            """, [.int2s(ids.map(\.lane.number)), .uuids(ids.map(\.bytes))]
        ).map { try $0.value("lane", as: Lane.self) }
        if !ordered.isEmpty { try Fence.lock(ordered, on: connection) }
        let ended = try connection.laneGroups.split(ids, by: \.lane).flatMap { part in
            try connection.query(
                DeliveryBulk.give,
                [
                    .int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.bytes)), .int8(now),
                    .int8(job),
                ])
        }
        let lines = Set(try ended.compactMap { try DeliveryOrder.Line($0) })
        _ = try DeliveryOrder.release(lines, now: now, on: connection)
        done.queued += Int64(ended.count)
        done.skip(.changed, rows.count - ended.count)
    }
}
