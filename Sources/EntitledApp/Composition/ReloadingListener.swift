import Base
import Daemon
import HTTP
import Synchronization

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
            logger.notice("certificate reloaded", ReloadingListener.record(identity, metrics))
        } catch {
            logger.error(
                "certificate reload failed",
                ["key": .string(error.key), "error": .string("\(error)")])
        }
    }

    /// Sets the gauge of the certificate's end; the fields of its log line.
    static func record(_ identity: TLSIdentity, _ metrics: Metrics) -> Logger.Fields {
        metrics.gauge(.certificateEnds, Double(identity.notAfter / 1000), ["role": "ingest"])
        return ["role": .string("ingest"), "tls.not_after": .string(Timestamp.precise(identity.notAfter))]
    }
}

/// What SIGHUP does in a process; filled after the signal is taken, which must come before any thread.
final class Reloads: Sendable {
    private let listeners = Mutex<[ReloadingListener]>([])
    /// Reloads asked for and not begun, and whether one is under way.
    private let progress = Mutex((isWanted: false, isRunning: false))
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
    }

    func add(_ listener: ReloadingListener) {
        listeners.withLock { $0.append(listener) }
    }

    /// On a thread of its own, one at a time: a file on a dead mount must not keep SIGTERM from being heard.
    func perform() {
        let isIdle = progress.withLock { progress in
            progress.isWanted = true
            defer { progress.isRunning = true }
            return !progress.isRunning
        }
        guard isIdle else { return }
        let thread = ServiceThread(orNil: "reload") { [self] in
            while takeRequest() { reload() }
        }
        guard thread == nil else { return }
        progress.withLock { $0.isRunning = false }
        logger.error("reload thread not started", ["reason": .string("the system has no more threads")])
    }

    /// False when no reload was requested since; then nothing is under way any more.
    private func takeRequest() -> Bool {
        progress.withLock { progress in
            progress.isRunning = progress.isWanted
            progress.isWanted = false
            return progress.isRunning
        }
    }

    private func reload() {
        let listeners = listeners.withLock { $0 }
        guard !listeners.isEmpty else {
            logger.notice("SIGHUP ignored", ["reason": .string("no listener has a certificate")])
            return
        }
        listeners.forEach { $0.reload() }
    }
}
