import AppStore
import Base
import Crypto
import Daemon

/// Asks responders whether certificates are revoked, on a thread of its own, beside everything that verifies.
///
/// One question at a time for each certificate, as the book says when; none waits for another, because the transport
/// does not block.
package final class RevocationChecker: Service {
    /// Sends a body by `POST` to a URL; calls back once, from any thread, with the body of a response with status 200, or
    /// with nil. Must not block, and must end each request by itself.
    package typealias Transport =
        @Sendable (_ url: String, _ body: [UInt8], _ answer: @escaping @Sendable ([UInt8]?) -> Void) -> Void

    package let name = "revocation-watch"

    private struct Inbox {
        var answers: [(RevocationCheck, [UInt8]?)] = []
        var isNewCertificate = false
        var isDraining = false
    }

    /// The clock of the book is the time of day, which may jump: looked at so often at least.
    private static let longestPause = Duration.seconds(60)

    private let book: RevocationCache
    private let transport: Transport
    private let remember: @Sendable ([[UInt8]: OCSPAnswer]) -> Void
    private let logger: Logger
    private let metrics: Metrics
    private let silence: ReminderSchedule
    private let inbox = Monitor(Inbox())
    private let finished = Monitor(false)

    /// - Parameters:
    ///   - transport: how questions are sent.
    ///   - remember: gets all that is known whenever it changed; on the asking thread.
    ///   - patience: how long an answer may be missing before a person is told, at most once an hour.
    package init(
        book: RevocationCache, transport: @escaping Transport, patience: Duration = .seconds(900),
        remember: @escaping @Sendable ([[UInt8]: OCSPAnswer]) -> Void = { _ in }, logger: Logger, metrics: Metrics
    ) {
        self.book = book
        self.transport = transport
        self.remember = remember
        self.logger = logger
        self.metrics = metrics
        silence = ReminderSchedule(patience: patience)
    }

    package func start() {
        let inbox = inbox
        book.listen { inbox.change { $0.isNewCertificate = true } }
        metrics.collect { [book] metrics in
            let census = book.census()
            for standing in RevocationStatus.allCases {
                metrics.gauge(.ocspStatus, Double(census[standing] ?? 0), ["status": standing.rawValue])
            }
        }
        _ = ServiceThread("revocation") { [self] in
            run()
            finished.change { $0 = true }
        }
    }

    package func drain(until deadline: ContinuousClock.Instant) {
        inbox.change { $0.isDraining = true }
        _ = finished.wait(timeout: max(.zero, deadline - ContinuousClock.now)) { $0 ? true : nil }
    }

    // MARK: - The asking thread

    private func run() {
        while true {
            for check in book.takeDue() {
                ask(check)
            }
            warnOfSilence()
            guard let answers = nextAnswers() else { return }
            for (check, body) in answers {
                take(check, body)
            }
        }
    }

    private func ask(_ check: RevocationCheck) {
        let inbox = inbox
        transport(check.url, check.body) { body in
            inbox.change { $0.answers.append((check, body)) }
        }
    }

    /// Waits for answers, a new certificate, or the next check's time; nil when draining.
    private func nextAnswers() -> [(RevocationCheck, [UInt8]?)]? {
        let pause = min(book.pause() ?? RevocationChecker.longestPause, RevocationChecker.longestPause)
        return inbox.wait(timeout: pause) { inbox in
            if inbox.isDraining { return .some(nil) }
            guard !inbox.answers.isEmpty || inbox.isNewCertificate else { return nil }
            defer { inbox = Inbox() }
            return .some(inbox.answers)
        } ?? []
    }

    private func take(_ check: RevocationCheck, _ body: [UInt8]?) {
        guard let report = book.finish(check, body) else { return }
        metrics.count(.ocspChecks, ["result": report.outcome.label])
        if case .answered = report.outcome { remember(book.answers()) }
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
        let unanswered = book.census()[.unanswered] ?? 0
        guard silence.isDue(missing: unanswered > 0, at: .now) else { return }
        logger.warning(
            "certificate revocation checks unanswered",
            [
                "unanswered": .int(Int64(unanswered)), "setting": .string("trust.ocsp"),
                "hint": .string("check that the OCSP responders can be reached from this machine"),
            ])
    }
}
