import Base
import Database
import Postgres

/// Writes what was sent to whom, and what came back (`CustomerExport`).
enum DeliveryExport {
    private static let select = """
        SELECT d.lane, d.id, d.endpoint, \(DeliveryQuery.shownState) AS state, d.created_ms
        FROM unnest($1::int2[], $2::uuid[]) AS t(lane, id)
        JOIN entitled.delivery d ON d.lane = t.lane /* cluster: AND d.lane = ANY($1::int2[]) */ AND d.id = t.id
        ORDER BY d.endpoint
        """
    private static let endpoints = "SELECT id, url FROM entitled.endpoint WHERE id = ANY($1::text[])"
    private static let attempts = """
        SELECT a.number, a.started_ms, a.status, a.outcome, a.detail, host(a.peer) AS address, a.head, a.response
        FROM entitled.attempt a WHERE a.lane = $1 AND a.delivery = $2 ORDER BY a.started_ms
        """

    static func write(
        _ ids: [DeliveryID], _ writer: inout ExportWriter, on connection: PostgresConnection
    ) throws {
        guard !ids.isEmpty else { return }
        let rows = try connection.laneGroups.split(ids, by: \.lane).flatMap { part in
            try connection.query(
                select, [.int2s(part.elements.map(\.lane.number)), .uuids(part.elements.map(\.bytes))]
            ).map { $0 }
        }
        let names = Set(try rows.map { try $0.text("endpoint") }).sorted()
        let urls = try connection.query(endpoints, [.texts(names)]).map { (try $0.text("id"), try $0.text("url")) }
        let urlOf = Dictionary(uniqueKeysWithValues: urls)
        for row in rows {
            let id = DeliveryID(lane: try row.value("lane"), bytes: try row.uuid("id"))
            let state: DeliveryState = try row.value("state")
            try writer.object { writer in
                try writer.put(.string(id.text), "id")
                try writer.put(.string(try row.text("endpoint")), "endpoint")
                try writer.put(.text(urlOf[try row.text("endpoint")]), "url")
                try writer.put(.string(state.name), "state")
                try writer.put(.date(try row.int("created_ms")), "created_at")
                let rows = try connection.query(attempts, [.int2(id.lane.number), .uuid(id.bytes)])
                try writer.list("attempts") { writer in
                    for row in rows { try writer.put(try attempt(row)) }
                }
            }
        }
    }

    private static func attempt(_ row: PostgresRow) throws -> JSON {
        .object([
            "number": .int(try row.int("number")), "started_at": .date(try row.int("started_ms")),
            "status": .integer(try row.optionalInt("status")), "outcome": .string(try row.text("outcome")),
            "detail": .text(try row.optionalText("detail")), "peer": .text(try row.optionalText("address")),
            "head": .text(try row.optionalBytes("head").map { String(decoding: $0, as: UTF8.self) }),
            "response": .text(try row.optionalBytes("response").map { String(decoding: $0, as: UTF8.self) }),
        ])
    }
}
