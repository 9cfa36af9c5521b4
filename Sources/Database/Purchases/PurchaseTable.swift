import Base
import Postgres
import Subscriptions

/// Records of purchases in the database: what the facts fold to.
package enum PurchaseTable {
    private static let selectOwners = """
        SELECT t.place, p.owner
        FROM \(PurchaseKeys.unnest("place int4"))
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        """

    /// The app user ids that own these purchases now, in their order; nil for those that are new.
    package static func owners(_ keys: [PurchaseKey], on connection: PostgresConnection) throws -> [String?] {
        var owners = [String?](repeating: nil, count: keys.count)
        guard !keys.isEmpty else { return owners }
        for row in try connection.query(selectOwners, PurchaseKeys(keys).placed) {
            let place = Int(try row.int("place"))
            if owners.indices.contains(place) { owners[place] = try row.text("owner") }
        }
        return owners
    }

    private static let selectRecords = """
        SELECT t.place, p.owner, p.product_id, p.access_ends_ms, p.grace_ends_ms, p.revoked_ms, p.will_renew, p.wake_ms,
            p.claims, p.tell_ms, p.told_owner
        FROM \(PurchaseKeys.unnest("place int4"))
        JOIN entitled.purchase p ON \(PurchaseKeys.equal("p"))
        """

    /// The records of these purchases, in their order; nil for those that have none.
    package static func records(
        _ keys: [PurchaseKey], on connection: PostgresConnection
    ) throws -> [PurchaseRecord?] {
        var records = [PurchaseRecord?](repeating: nil, count: keys.count)
        guard !keys.isEmpty else { return records }
        for row in try connection.query(selectRecords, PurchaseKeys(keys).placed) {
            let place = Int(try row.int("place"))
            guard records.indices.contains(place) else { continue }
            records[place] = PurchaseRecord(
                key: keys[place], owner: try row.text("owner"), productID: try row.text("product_id"),
                accessEnds: try row.optionalInt("access_ends_ms"), graceEnds: try row.optionalInt("grace_ends_ms"),
                revoked: try row.optionalInt("revoked_ms"), willRenew: try row.bool("will_renew"),
                wake: try row.optionalInt("wake_ms"),
                claims: try row.optionalBytes("claims").flatMap(PurchaseClaims.init(bytes:)),
                tell: try row.optionalInt("tell_ms"),
                told: try row.optionalText("told_owner"))
        }
        return records
    }

    private static let delete = """
        DELETE FROM entitled.purchase p USING \(PurchaseKeys.unnest("place int4"))
        WHERE \(PurchaseKeys.equal("p"))
        """

    private static let deleteSnapshots = """
        DELETE FROM entitled.purchase_snapshot s
        USING \(PurchaseKeys.unnest("place int4"))
        WHERE \(PurchaseKeys.equal("s"))
        """

    /// Removes records that no fact stands behind, and what was made of them. Their lanes are held.
    package static func remove(_ keys: [PurchaseKey], on connection: PostgresConnection) throws {
        guard !keys.isEmpty else { return }
        _ = try connection.query(delete, PurchaseKeys(keys).placed)
        _ = try connection.query(deleteSnapshots, PurchaseKeys(keys).placed)
    }

    /// Without claims neither the owner changes: an act may have given the purchase to another customer meanwhile.
    private static let upsert = """
        INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
            access_ends_ms, grace_ends_ms, revoked_ms, will_renew, wake_ms, claims, account, tell_ms, told_owner, version,
            updated_ms)
        SELECT t.*, 1, $16
        FROM unnest($1::int2[], $2::text[], $3::int2[], $4::text[], $5::text[], $6::text[], $7::int8[], $8::int8[],
            $9::int8[], $10::bool[], $11::int8[], $12::bytea[], $13::int8[], $14::int8[], $15::text[]) AS t
        ON CONFLICT (lane, original_transaction_id, app, environment) DO UPDATE
        SET owner = CASE WHEN excluded.claims IS NULL THEN purchase.owner ELSE excluded.owner END,
            account = CASE WHEN excluded.claims IS NULL THEN purchase.account ELSE excluded.account END,
            told_owner = CASE WHEN excluded.claims IS NULL THEN purchase.told_owner ELSE excluded.told_owner END,
            claims = coalesce(excluded.claims, purchase.claims), tell_ms = excluded.tell_ms,
            product_id = excluded.product_id, access_ends_ms = excluded.access_ends_ms,
            grace_ends_ms = excluded.grace_ends_ms, revoked_ms = excluded.revoked_ms, will_renew = excluded.will_renew,
            wake_ms = excluded.wake_ms, version = purchase.version + 1, updated_ms = excluded.updated_ms
        RETURNING app, environment, original_transaction_id, owner
        """

    private static let setOwner = """
        UPDATE entitled.purchase p SET owner = t.owner, version = p.version + 1, updated_ms = $6
        FROM \(PurchaseKeys.unnest("owner text"))
        WHERE \(PurchaseKeys.equal("p"))
        """

    /// Gives what was granted to other owners. Their lanes are held.
    package static func setOwners(
        _ owners: [(key: PurchaseKey, owner: String)], now: Int64, on connection: PostgresConnection
    ) throws {
        guard !owners.isEmpty else { return }
        try PurchaseLanes.note(
            Set(owners.map { PurchaseLanes.OwnerPlace(owner: $0.owner, lane: $0.key.lane) }), [], on: connection)
        _ = try connection.query(
            setOwner, PurchaseKeys(owners.map(\.key)).parameters + [.texts(owners.map(\.owner)), .int8(now)])
    }

    private static let wakeTelling = """
        UPDATE entitled.purchase p SET wake_ms = $6
        FROM \(PurchaseKeys.unnest("place int4"))
        WHERE \(PurchaseKeys.equal("p")) AND p.tell_ms IS NOT NULL
        """

    /// Looks at those of these at this instant, in ms, of which nothing was told yet.
    package static func wakeWaiting(
        _ keys: [PurchaseKey], at instant: Int64, on connection: PostgresConnection
    ) throws {
        guard !keys.isEmpty else { return }
        _ = try connection.query(wakeTelling, PurchaseKeys(keys).placed + [.int8(instant)])
    }

    private static let touch = """
        UPDATE entitled.purchase p SET version = p.version + 1, updated_ms = $6
        FROM \(PurchaseKeys.unnest("place int4"))
        WHERE \(PurchaseKeys.equal("p"))
        """

    /// Notes that there are facts of these that change what documents say and nothing in the record. Their lanes are held.
    package static func touch(
        _ keys: some Collection<PurchaseKey>, now: Int64, on connection: PostgresConnection
    ) throws {
        guard !keys.isEmpty else { return }
        _ = try connection.query(touch, PurchaseKeys(keys).placed + [.int8(now)])
    }

    private static let selectOwned = """
        SELECT app, environment, original_transaction_id, owner, lane FROM entitled.purchase
        WHERE owner = ANY($1::text[]) /* cluster: AND lane = ANY($2::int2[]) */
        ORDER BY app, environment, original_transaction_id
        """

    /// The purchases that are owned under these ids.
    ///
    /// - Throws: `PostgresError`, also where one of them may not be seen yet (`PurchaseLanes.query`).
    package static func owned(by ids: [String], on connection: PostgresConnection) throws -> [PurchaseKey] {
        let rows = try PurchaseLanes.query(
            selectOwned, [.texts(ids)], ofOwners: ids, on: connection, place: PurchaseLanes.OwnerPlace.init)
        return try rows?.map { try PurchaseKey($0) } ?? []
    }

    private static let identify = """
        INSERT INTO entitled.purchase_identifier (identifier, app, environment, original_transaction_id, lane)
        SELECT * FROM unnest($1::text[], $2::text[], $3::int2[], $4::text[], $5::int2[]) ON CONFLICT DO NOTHING
        """

    /// Writes records, in the order in which all who write several lock them. Their owners come back.
    @discardableResult
    package static func write(
        _ records: [PurchaseRecord], now: Int64, on connection: PostgresConnection
    ) throws -> [PurchaseKey: String] {
        guard !records.isEmpty else { return [:] }
        let records = records.sorted {
            ($0.key.lane, $0.key.originalTransactionID, $0.key.app, $0.key.environment.code)
                < ($1.key.lane, $1.key.originalTransactionID, $1.key.app, $1.key.environment.code)
        }
        try PurchaseLanes.note(records, on: connection)
        var owners: [PurchaseKey: String] = [:]
        let rows = try connection.query(
            upsert,
            PurchaseKeys(records.map(\.key)).columns + [
                .texts(records.map(\.owner)),
                .texts(records.map(\.productID)), .int8s(records.map(\.accessEnds)),
                .int8s(records.map(\.graceEnds)), .int8s(records.map(\.revoked)),
                .bools(records.map(\.willRenew)), .int8s(records.map(\.wake)),
                .byteas(records.map { $0.claims?.bytes }),
                .int8s(
                    records.map { record in
                        record.claims.map { AccountKey(of: record.key, account: $0.account).number }
                    }),
                .int8s(records.map(\.tell)), .texts(records.map(\.told)), .int8(now),
            ])
        for row in rows {
            let key = try PurchaseKey(row)
            owners[key] = try row.text("owner")
        }
        return owners
    }

    /// Makes transactions and periods findable by their ids.
    package static func identify(
        _ identifiers: [(identifier: String, key: PurchaseKey)], on connection: PostgresConnection
    ) throws {
        guard !identifiers.isEmpty else { return }
        try PurchaseLanes.note(continuations: identifiers, on: connection)
        // In order, so that two workers with the same id wait instead of deadlocking.
        let sorted = identifiers.sorted { ($0.identifier, $0.key.app) < ($1.identifier, $1.key.app) }
        _ = try connection.query(
            identify,
            [
                .texts(sorted.map(\.identifier)), .texts(sorted.map(\.key.app)),
                .int2s(sorted.map(\.key.environment.code)), .texts(sorted.map(\.key.originalTransactionID)),
                .int2s(sorted.map(\.key.lane.number)),
            ])
    }

    private static let due = """
        SELECT p.app, p.environment, p.original_transaction_id, p.wake_ms
        FROM unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (
            SELECT * FROM entitled.purchase WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
                AND wake_ms <= $2 ORDER BY wake_ms LIMIT $3
        ) p
        WHERE NOT EXISTS (SELECT 1 FROM entitled.pending w WHERE w.lane = owned.lane /* cluster: AND w.lane = ANY($1::int2[]) */)
        LIMIT $3
        """

    /// A purchase whose time has come.
    package struct DueWake: Sendable {
        package let key: PurchaseKey
        /// When its timer was to fire, in ms.
        package let at: Int64
    }

    /// Purchases of these lanes whose time has come; none of a lane where notifications still wait, because one of
    /// them may say that the subscription goes on.
    package static func due(
        in lanes: [Lane], at now: Int64, atMost limit: Int, on connection: PostgresConnection
    ) throws -> [DueWake] {
        var wakes: [DueWake] = []
        for row in try connection.query(due, [.int2s(lanes.map(\.number)), .int8(now), .int8(Int64(limit))]) {
            let key = try PurchaseKey(row)
            wakes.append(DueWake(key: key, at: try row.int("wake_ms")))
        }
        return wakes
    }

    private static let late = """
        SELECT count(*) FROM unnest($1::int2[]) AS owned(lane)
        CROSS JOIN LATERAL (SELECT 1 FROM entitled.purchase WHERE lane = owned.lane /* cluster: AND lane = ANY($1::int2[]) */
            AND wake_ms <= $2 LIMIT $3) p
        """

    /// Purchases of these lanes whose time came before this instant, counting so many of each at most.
    package static func overdue(
        in lanes: [Lane], before instant: Int64, eachAtMost limit: Int, on connection: PostgresConnection
    ) throws -> Int64 {
        try connection.query(late, [.int2s(lanes.map(\.number)), .int8(instant), .int8(Int64(limit))]).one().int(
            "count")
    }

    private static let setWake = """
        UPDATE entitled.purchase p SET wake_ms = $5
        FROM \(PurchaseKeys.unnest)
        WHERE \(PurchaseKeys.equal("p"))
        """

    /// Looks at these again at this instant; nil for never.
    package static func wake(_ keys: [PurchaseKey], at instant: Int64?, on connection: PostgresConnection) throws {
        guard !keys.isEmpty else { return }
        _ = try connection.query(setWake, PurchaseKeys(keys).parameters + [.int8(instant)])
    }
}
