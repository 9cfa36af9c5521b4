import Base
import Daemon
import Database
import Postgres

/// Watches which endpoints this worker can send to: reads its sealing keys again, and reports what they do not open.
///
/// Deliveries of an endpoint that cannot be opened stay pending; nothing counts against them.
struct SealingKeyWatch {
    private let keys: @Sendable () -> SecretSealer
    private let logger: Logger
    private let metrics: Metrics
    private(set) var sealer: SecretSealer
    private var missing: String?
    private var unreadable: Set<String> = []

    /// - Parameter keys: the keys of this host at the moment; none where it has none.
    init(keys: @escaping @Sendable () -> SecretSealer, logger: Logger, metrics: Metrics) {
        self.keys = keys
        self.logger = logger
        self.metrics = metrics
        sealer = keys()
    }

    /// True if the keys have changed.
    mutating func look(now: Int64, on connection: PostgresConnection) throws -> Bool {
        let former = sealer.fingerprints
        sealer = keys()
        try report(SealingKeyRegister.missing(from: sealer, on: connection))
        report(try EndpointTable.load(sealer: sealer, now: now, on: connection).filter { !$0.isSendable })
        return sealer.fingerprints != former
    }

    private mutating func report(_ key: String?) {
        defer { missing = key }
        guard key != missing else { return }
        guard let key else { return logger.notice("sealing key found", ["key": .string(sealer.fingerprint)]) }
        logger.error("sealing key missing", ["key": .string(key)])
    }

    private mutating func report(_ broken: [Endpoint]) {
        metrics.gauge(.endpointsUnreadable, Double(broken.count))
        let ids = Set(broken.map(\.id))
        for endpoint in broken where !unreadable.contains(endpoint.id) {
            logger.error(
                "endpoint secrets not unsealed",
                [
                    "endpoint": .string(endpoint.id),
                    "unreadable": .string(endpoint.unreadable.map(\.rawValue).joined(separator: ",")),
                ])
        }
        for id in unreadable.subtracting(ids).sorted() {
            logger.notice("endpoint secrets unsealed", ["endpoint": .string(id)])
        }
        unreadable = ids
    }
}
