import Base
import Postgres
import Synchronization

/// JWS headers, each kept once.
package enum JWSHeaderTable {
    private static let insert = """
        INSERT INTO entitled.jws_header (id, header)
        SELECT * FROM unnest($1::uuid[], $2::bytea[]) AS t(id, header) ORDER BY id ON CONFLICT DO NOTHING
        """

    /// Keeps the headers whose ids are not known to be there.
    package static func insert(
        _ headers: [[UInt8]], known: Set<[UInt8]>, on connection: PostgresConnection
    ) throws {
        // By id: hashing the headers themselves, for each fact, would be a good part of a worker's time.
        let distinct = Dictionary(headers.map { (StoredJWS.headerID($0), $0) }) { first, _ in first }
        let fresh = distinct.filter { !known.contains($0.key) }
        guard !fresh.isEmpty else { return }
        _ = try connection.query(insert, [.uuids(fresh.map(\.key)), .byteas(fresh.map(\.value))])
    }
}

/// Headers that were read lately. An id is the digest of its header, so that what was read once is never another; Apple has one or two
/// at a time, and 4.4 KB with each notification would be most of what is read of it.
package final class JWSHeaderCache: Sendable {
    private let lately = Mutex<[[UInt8]: [UInt8]]>([:])
    private static let limit = 16

    package init() {}

    /// Headers by their ids; those that the database lacks are left out.
    func headers(_ ids: Set<[UInt8]>, on connection: PostgresConnection) throws -> [[UInt8]: [UInt8]] {
        var headers = lately.withLock { known in known.filter { ids.contains($0.key) } }
        let others = ids.filter { headers[$0] == nil }
        guard !others.isEmpty else { return headers }
        let rows = try connection.query(
            "SELECT id, header FROM entitled.jws_header WHERE id = ANY ($1::uuid[])", [.uuids(Array(others))])
        for row in rows { headers[try row.uuid("id")] = try row.bytes("header") }
        let read = headers
        lately.withLock { known in
            if known.count + read.count > JWSHeaderCache.limit { known = [:] }
            for (id, header) in read.prefix(JWSHeaderCache.limit) { known[id] = header }
        }
        return headers
    }
}
