import Base
import Postgres

extension DeliveryTable {
    /// One attempt, for the operator.
    package struct AttemptRecord: Sendable {
        /// Milliseconds of each phase; nil for one that did not happen or did not end.
        package struct Timings: Sendable, Equatable {
            package var lookup: Int64?
            package var connect: Int64?
            package var handshake: Int64?
            package var firstByte: Int64?

            package init(
                lookup: Int64? = nil, connect: Int64? = nil, handshake: Int64? = nil, firstByte: Int64? = nil
            ) {
                self.lookup = lookup
                self.connect = connect
                self.handshake = handshake
                self.firstByte = firstByte
            }
        }

        package let number: Int
        package let started: Int64
        package let milliseconds: Int64
        package let outcome: String
        package let detail: String?
        /// The beginning of what the consumer answered.
        package let response: [UInt8]
        /// Also of a response that did not end.
        package var status: Int?
        package var timings = Timings()
        /// The address that was connected to, as text.
        package var peer: String?
        package var reused = false
        /// 10, 11 or 20.
        package var version: Int?
        /// Whether there was more of the response than was kept.
        package var truncated = false
        /// Status line and headers.
        package var head: [UInt8] = []

        package init(
            number: Int, started: Int64, milliseconds: Int64, outcome: String, detail: String?, response: [UInt8]
        ) {
            self.number = number
            self.started = started
            self.milliseconds = milliseconds
            self.outcome = outcome
            self.detail = detail
            self.response = response
        }
    }
}

/// The process that makes attempts.
package struct AttemptSender: Sendable, Equatable {
    /// 16 bytes.
    package let worker: [UInt8]
    package let host: String

    package init(worker: [UInt8], host: String) {
        self.worker = worker
        self.host = host
    }
}

/// The log of attempts.
package enum AttemptTable {
    private static func makeSender(_ worker: String, _ host: String) -> String {
        """
        INSERT INTO entitled.sender (worker, host)
        SELECT \(worker), \(host) WHERE \(worker)::uuid IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM entitled.sender WHERE worker = \(worker))
        ON CONFLICT (worker) DO NOTHING
        """
    }

    private static let selectNumber = "SELECT number FROM entitled.sender WHERE worker = $1"

    /// The number of a sender in a cluster, where its row is the coordinator's and attempts are on other servers.
    private static func number(of sender: AttemptSender, on connection: PostgresConnection) throws -> Int32? {
        for isMade in [false, true] {
            if let row = try connection.query(selectNumber, [.uuid(sender.worker)]).first {
                return Int32(clamping: try row.int("number"))
            }
            if !isMade {
                try connection.query(makeSender("$1", "$2::text"), [.uuid(sender.worker), .text(sender.host)])
            }
        }
        return nil
    }

    /// The sender's row is inserted with its first attempts. There is no race for it: one thread sends for each sender.
    private static let insert = """
        /* cluster: for: */WITH known AS (
            SELECT number FROM entitled.sender WHERE worker = $19
        ), made AS (
            \(makeSender("$19", "$20")) RETURNING number
        )
        /* end */INSERT INTO entitled.attempt (lane, delivery, number, started_ms, duration_ms, status, outcome, detail, response,
            sender, lookup_ms, connect_ms, tls_ms, first_byte_ms, http_version, peer, reused, truncated, head)
        SELECT lane, delivery, number, started, duration, status, outcome, detail, response,
            /* cluster: $19::int4 for: */(SELECT number FROM known UNION ALL SELECT number FROM made LIMIT 1)/* end */,
            lookup, connect, handshake, first_byte, version, peer::inet, reused, truncated, head
        FROM unnest($1::int2[], $2::uuid[], $3::int2[], $4::int8[], $5::int4[], $6::int2[], $7::text[], $8::text[],
            $9::bytea[], $10::int4[], $11::int4[], $12::int4[], $13::int4[], $14::int2[], $15::text[], $16::bool[],
            $17::bool[], $18::bytea[])
            AS t(lane, delivery, number, started, duration, status, outcome, detail, response, lookup, connect,
                handshake, first_byte, version, peer, reused, truncated, head)
        ON CONFLICT DO NOTHING
        """

    /// Writes these down; in the transaction that settles their deliveries. What is there already stays.
    static func insert(
        _ attempts: [(delivery: DeliveryID, record: DeliveryTable.AttemptRecord)], by sender: AttemptSender?,
        on connection: PostgresConnection
    ) throws {
        guard !attempts.isEmpty else { return }
        func int4s(_ value: (DeliveryTable.AttemptRecord) -> Int64?) -> PostgresValue {
            .int4s(attempts.map { value($0.record).map { Int32(clamping: $0) } })
        }
        func int2s(_ value: (DeliveryTable.AttemptRecord) -> Int?) -> PostgresValue {
            .int2s(attempts.map { value($0.record).map { Int16(clamping: $0) } })
        }
        func byteas(_ value: (DeliveryTable.AttemptRecord) -> [UInt8]) -> PostgresValue {
            .byteas(attempts.map { value($0.record).isEmpty ? nil : value($0.record) })
        }
        _ = try connection.query(
            insert,
            [
                .int2s(attempts.map(\.delivery.lane.number)), .uuids(attempts.map(\.delivery.bytes)),
                int2s { $0.number }, .int8s(attempts.map(\.record.started)), int4s { $0.milliseconds },
                int2s { $0.status }, .texts(attempts.map(\.record.outcome)), .texts(attempts.map(\.record.detail)),
                byteas { $0.response },
                int4s { $0.timings.lookup }, int4s { $0.timings.connect }, int4s { $0.timings.handshake },
                int4s { $0.timings.firstByte }, int2s { $0.version == 11 ? nil : $0.version },
                .texts(attempts.map(\.record.peer)), .bools(attempts.map { $0.record.reused ? true : nil }),
                .bools(attempts.map { $0.record.truncated ? true : nil }), byteas { $0.head },
            ]
                + (connection.isCluster
                    ? [.int4(try sender.flatMap { try number(of: $0, on: connection) })]
                    : [.uuid(sender?.worker), .text(sender?.host)]))
    }
}
