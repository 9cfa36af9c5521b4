import Base
import Postgres

/// JWS headers, each kept once.
package enum JWSHeaderStore {
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
