import Base
import Database
import Postgres
import Subscriptions

/// Writes everything about a purchase, a page of rows at a time (`CustomerExport`).
struct PurchaseExport {
    private let notifications = StoredNotifications()
    private static let pageSize = 50

    private static let record = """
        SELECT to_jsonb(p) AS document FROM entitled.purchase p
        WHERE p.lane = $1 AND p.original_transaction_id = $2 AND p.app = $3 AND p.environment = $4
        """
    private static let identifiers = """
        SELECT identifier FROM entitled.purchase_identifier
        WHERE identifier = ANY($1::text[]) AND original_transaction_id = $2 AND app = $3 AND environment = $4 ORDER BY 1
        """

    func write(_ key: PurchaseKey, _ writer: inout ExportWriter, on connection: PostgresConnection) throws {
        let place: [PostgresValue] = [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
        ]
        let facts = try FactTable.load([key], on: connection).first ?? PurchaseFacts()
        let names = (Purchase(folding: facts, key: key)?.identifiers ?? []).union([key.originalTransactionID])
        try writer.object { writer in
            try writer.put(.string(key.app), "app")
            try writer.put(.string(key.environment.rawValue), "environment")
            try writer.put(.string(key.originalTransactionID), "original_transaction_id")
            let record = try connection.query(PurchaseExport.record, place).first?.bytes("document")
            if let record { try writer.put(row: record, "record") } else { try writer.put(.null, "record") }
            try writer.put(
                .strings(
                    try connection.query(
                        PurchaseExport.identifiers, [.texts(names.sorted())] + place.dropFirst()
                    ).map { try $0.text("identifier") }), "identifiers")
            try self.facts(place, &writer, on: connection)
            try notifications(of: key, &writer, on: connection)
            try writer.list("events") { writer in
                try events(try EventRedactor.events(of: key, on: connection), &writer, on: connection)
            }
            for (table, member) in try PersonalDataMap.ofPurchases(on: connection) {
                let rows = try connection.query(
                    """
                    SELECT to_jsonb(t) AS document FROM entitled.\(table) t
                    WHERE t.lane = $1 AND t.original_transaction_id = $2 AND t.app = $3 AND t.environment = $4
                    """, place)
                try writer.list(member) { writer in
                    for row in rows { try writer.put(row: try row.bytes("document")) }
                }
            }
        }
    }

    // MARK: - Facts

    private static let selectFacts = """
        SELECT f.kind, f.signed_ms, f.seq, f.payload, h.header, f.signature, f.digest
        FROM entitled.fact f LEFT JOIN entitled.jws_header h ON h.id = f.header
        WHERE f.lane = $1 AND f.original_transaction_id = $2 AND f.app = $3 AND f.environment = $4 AND f.digest > $5
        ORDER BY f.digest LIMIT \(pageSize)
        """

    private func facts(
        _ place: [PostgresValue], _ writer: inout ExportWriter, on connection: PostgresConnection
    ) throws {
        var last = [UInt8](repeating: 0, count: 16)
        try writer.list("facts") { writer in
            while true {
                let rows = try connection.query(PurchaseExport.selectFacts, place + [.uuid(last)])
                for row in rows {
                    try writer.put(try fact(row))
                    last = try row.uuid("digest")
                }
                guard rows.count == PurchaseExport.pageSize else { return }
            }
        }
    }

    private func fact(_ row: PostgresRow) throws -> JSON {
        let payload = try FactCodec.restore(try row.bytes("payload"))
        let (header, signature) = (try row.optionalBytes("header"), try row.optionalBytes("signature"))
        let signed = header.flatMap { header in
            signature.map {
                StoredJWS(headerID: [], payload: [], signature: $0).compact(header: header, payload: payload)
            }
        }
        let kind = FactRow.Kind(rawValue: Int16(clamping: try row.int("kind")))
        return .object([
            "kind": .text(kind.map { String(describing: $0) }), "signed_at": .date(try row.int("signed_ms")),
            "received_at": .date(SequenceGenerator.instant(of: try row.int("seq"))), "payload": .raw(payload),
            "signed": .text(signed.map { String(decoding: $0, as: UTF8.self) }),
        ])
    }

    // MARK: - Notifications

    private func notifications(
        of key: PurchaseKey, _ writer: inout ExportWriter, on connection: PostgresConnection
    ) throws {
        let places = try StoredNotifications.places(of: key, on: connection)
        try writer.list("notifications") { writer in
            for start in stride(from: 0, to: places.count, by: PurchaseExport.pageSize) {
                let stored = try notifications.read(
                    places[start...].prefix(PurchaseExport.pageSize), on: connection)
                for notification in stored {
                    try writer.object { writer in
                        for member in members(notification) { try writer.put(member.value, member.name) }
                        let deliveries = try PurchaseRedactor.deliveries(
                            of: [notification.identity], in: notification.place.lane, on: connection)
                        try writer.list("deliveries") { writer in
                            try DeliveryExport.write(deliveries.map(\.id), &writer, on: connection)
                        }
                    }
                }
            }
        }
    }

    private func members(_ stored: StoredNotifications.Stored) -> [JSON.Member] {
        let object = JSON.object([
            "uuid": .string(stored.identity.uuid), "type": .string(stored.type), "subtype": .text(stored.subtype),
            "received_at": .date(stored.received),
            "state": .string(stored.isPending ? "pending" : stored.held == nil ? "applied" : "held"),
            "reason": .text(stored.held), "payload": stored.payload.flatMap(NestedJWS.decoded) ?? .null,
            "signed": .text(stored.signed.map { String(decoding: $0, as: UTF8.self) }),
        ])
        return object.members ?? []
    }

    // MARK: - Events

    private static let selectEvents = """
        SELECT e.id, e.type, e.created_ms, e.sequence, e.body, e.lane
        FROM unnest($1::int2[], $2::uuid[]) WITH ORDINALITY AS t(lane, id, place)
        JOIN entitled.event e ON e.lane = t.lane /* cluster: AND e.lane = ANY($1::int2[]) */ AND e.id = t.id
        ORDER BY t.place
        """

    /// Each with what was sent of it.
    func events(
        _ given: [EventRedactor.Name], _ writer: inout ExportWriter, on connection: PostgresConnection
    ) throws {
        let names = try EventRedactor.withCopies(given, on: connection)
        for start in stride(from: 0, to: names.count, by: PurchaseExport.pageSize) {
            let page = names[start...].prefix(PurchaseExport.pageSize)
            let rows = try connection.query(
                PurchaseExport.selectEvents, [.int2s(page.map(\.lane.number)), .uuids(page.map(\.id))])
            for row in rows {
                let stored = try row.bytes("body")
                let body: JSON = stored.isEmpty ? .null : .raw(try EventBodyCodec.restore(stored))
                let name = EventRedactor.Name(
                    lane: try row.value("lane"), id: try row.uuid("id"))
                try writer.object { writer in
                    try writer.put(.string(UUIDText.upper(name.id)), "id")
                    try writer.put(.string(try row.text("type")), "type")
                    try writer.put(.date(try row.int("created_ms")), "created_at")
                    try writer.put(.integer(try row.optionalInt("sequence")), "sequence")
                    try writer.put(body, "body")
                    let deliveries = try EventRedactor.deliveries(of: [name], on: connection)
                    try writer.list("deliveries") { writer in
                        try DeliveryExport.write(deliveries.map(\.id), &writer, on: connection)
                    }
                }
            }
        }
    }
}
