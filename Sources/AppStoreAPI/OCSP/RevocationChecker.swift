import AppStore
import Base
import Crypto
import Daemon

/// Asks responders whether certificates are revoked, on a thread of its own, beside everything that verifies.
///
/// One question at a time for each certificate, as the cache says when; none waits for another, because the transport
/// does not block.
package final class RevocationChecker: Service {
    /// Sends a body by `POST` to a URL; calls back once, from any thread, with the body of a response with status 200, or
    /// with nil. Must not block, and must end each request by itself.
    package typealias Transport =
        @Sendable (_ url: String, _ body: [UInt8], _ answer: @escaping @Sendable ([UInt8]?) -> Void) -> Void

    package let name = "revocation-watch"

    /// The clock of the cache is the time of day, which may jump: looked at so often at least.
    private static let longestPause = Duration.seconds(60)

    private let cache: RevocationCache
    private let transport: Transport
    private let remember: @Sendable ([[UInt8]: OCSPAnswer]) -> Void
    private let logger: Logger
    private let metrics: Metrics
    private let silence: ReminderSchedule
    private let answers = Monitor<[(check: RevocationCheck, body: [UInt8]?)]>([])
    private let loop = Loop("revocation")

    /// - Parameters:
    ///   - transport: how questions are sent.
    ///   - remember: gets all that is known whenever it changed; on the asking thread.
    ///   - patience: how long an answer may be missing before a person is told, at most once an hour.
    package init(
        cache: RevocationCache, transport: @escaping Transport, patience: Duration = .seconds(900),
        remember: @escaping @Sendable ([[UInt8]: OCSPAnswer]) -> Void = { _ in }, logger: Logger, metrics: Metrics
    ) {
        self.cache = cache
        self.transport = transport
        self.remember = remember
        self.logger = logger
        self.metrics = metrics
        silence = ReminderSchedule(patience: patience)
    }

    package func start() {
        cache.listen { [loop] in loop.wake() }
        metrics.collect { [cache] metrics in
            let census = cache.census()
            for status in RevocationStatus.allCases {
                metrics.gauge(.ocspStatus, Double(census[status] ?? 0), ["status": status.rawValue])
            }
        }
        loop.start { [self] loop in loop.run { look() } }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        loop.drain(until: deadline)
    }

    // MARK: - The asking thread

    /// Takes what was answered and asks what is due; the next look follows an answer, a new certificate, or the next
    /// check's time.
    private func look() -> Next {
        let answered = answers.change { answers in
            defer { answers = [] }
            return answers
        }
        for (check, body) in answered {
            take(check, body)
        }
        for check in cache.takeDue() {
            ask(check)
        }
        warnOfSilence()
        return .after(min(cache.pause() ?? RevocationChecker.longestPause, RevocationChecker.longestPause))
    }

    private func ask(_ check: RevocationCheck) {
        transport(check.url, check.body) { [answers, loop] body in
            answers.change { $0.append((check, body)) }
            loop.wake()
        }
    }

    private func take(_ check: RevocationCheck, _ body: [UInt8]?) {
        guard let report = cache.finish(check, body) else { return }
        metrics.count(.ocspChecks, ["result": report.outcome.label])
        if case .answered = report.outcome { remember(cache.answers()) }
        let fields: Logger.Fields = [
            "certificate.sha256": .string(check.fingerprint), "certificate.subject": .string(check.subject),
            "status": .string(report.after.rawValue), "previous": .string(report.before.rawValue),
            "result": .string(report.outcome.label), "next_check": .date(report.nextCheck),
        ]
        guard report.before != report.after else {
            logger.debug("certificate revocation checked", fields)
            return
        }
        if report.after == .revoked {
            logger.warning("Apple certificate revoked", fields)
        } else {
            logger.notice("certificate revocation status changed", fields)
        }
    }

    private func warnOfSilence() {
        let unanswered = cache.census()[.unanswered] ?? 0
        guard silence.isDue(missing: unanswered > 0, at: .now) else { return }
        logger.warning(
            "certificate revocation checks unanswered",
            [
                "unanswered": .int(Int64(unanswered)), "setting": .string("trust.ocsp"),
                "hint": .string("check that the OCSP responders can be reached from this machine"),
            ])
    }
}
