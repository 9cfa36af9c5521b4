import Base
import HTTPServer
import Synchronization
import Telemetry

/// The certificate of a listener, read again on demand; what cannot be used changes nothing.
struct ReloadingListener: Sendable {
    let server: HTTPServer
    let files: TLSFiles
    let logger: Logger
    let metrics: Metrics

    /// New connections show the new certificate; those that are open keep theirs.
    func reload() {
        do {
            let identity = try files.identity()
            server.replaceIdentity(identity)
            ReloadingListener.tell("certificate reloaded", identity, logger, metrics)
        } catch {
            logger.error(
                "certificate not reloaded, the one before stays",
                ["key": .string(error.key), "error": .string("\(error)")])
        }
    }

    static func tell(_ message: String, _ identity: TLSIdentity, _ logger: Logger, _ metrics: Metrics) {
        metrics.gauge(
            "entitled_tls_certificate_not_after_seconds", "When the listener's certificate ends, in Unix time.",
            ["role": "ingest"], Double(identity.notAfter / 1000))
        logger.notice(
            message, ["role": .string("ingest"), "tls.not_after": .string(Timestamp.precise(identity.notAfter))])
    }
}

/// What SIGHUP does in a process; filled after the signal is taken, which must come before any thread.
final class Reloads: Sendable {
    private let listeners = Mutex<[ReloadingListener]>([])
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func add(_ listener: ReloadingListener) {
        listeners.withLock { $0.append(listener) }
    }

    func perform() {
        let listeners = listeners.withLock { $0 }
        guard !listeners.isEmpty else {
            logger.notice("SIGHUP ignored, nothing here is read again")
            return
        }
        listeners.forEach { $0.reload() }
    }
}
