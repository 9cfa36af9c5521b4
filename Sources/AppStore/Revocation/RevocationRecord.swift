import Crypto

/// What is known about one certificate. All times are milliseconds since 1970.
struct RevocationRecord {
    let certificate: Certificate
    /// Nil where no responder can be asked.
    let check: RevocationCheck?
    /// The newest one, whether it still counts or not.
    private(set) var answer: OCSPAnswer?
    /// From when the answer counts no more.
    private(set) var answerEnd: Int64 = 0
    /// In a row.
    private(set) var failures = 0
    private(set) var nextCheck: Int64 = 0
    private var lastCheck: Int64 = .min
    var isInFlight = false
    /// When data with it came last.
    var lastSeen: Int64
    /// What was reported last.
    private(set) var told: RevocationStatus

    init(_ certificate: Certificate, issuer: Certificate, now: Int64) {
        self.certificate = certificate
        check = RevocationCheck(of: certificate, issuedBy: issuer)
        lastSeen = now
        told = .unanswered
    }

    /// Begins with what was known before the process started; it is asked about again all the same.
    mutating func restore(_ remembered: OCSPAnswer, _ schedule: RevocationSchedule) {
        answer = remembered
        answerEnd = schedule.end(of: remembered, receivedAt: remembered.thisUpdate)
    }

    /// Also where the clock turned out to be ahead when the next check was planned.
    func isDue(at now: Int64) -> Bool {
        !isInFlight && isAsked(at: now) && (nextCheck <= now || lastCheck > now)
    }

    /// Once known it stays, until a newer answer says otherwise.
    var revocation: OCSPAnswer.Revocation? {
        if case .revoked(let revocation) = answer?.status { revocation } else { nil }
    }

    /// Only certificates that are valid now: responders forget the others.
    func isAsked(at now: Int64) -> Bool {
        check != nil && certificate.isValid(at: now)
    }

    func status(at now: Int64) -> RevocationStatus {
        if revocation != nil { return .revoked }
        guard isAsked(at: now) else { return .notAsked }
        guard let answer, now < answerEnd else { return .unanswered }
        return answer.status == .good ? .good : .unknown
    }

    /// Takes what a check came to.
    mutating func finish(
        _ result: Result<OCSPAnswer, OCSPFailure>?, at now: Int64, _ schedule: RevocationSchedule, chance: Double
    ) -> RevocationReport {
        isInFlight = false
        lastCheck = now
        let outcome = take(result, at: now, schedule)
        if case .answered(let status) = outcome, status != .unknown, let answer {
            failures = 0
            nextCheck = schedule.refresh(answer, receivedAt: now, chance: chance)
        } else {
            failures += 1
            nextCheck = schedule.retry(failures: failures, now: now, chance: chance)
        }
        let (before, after) = (told, status(at: now))
        told = after
        return RevocationReport(outcome: outcome, before: before, after: after, nextCheck: nextCheck)
    }

    private mutating func take(
        _ result: Result<OCSPAnswer, OCSPFailure>?, at now: Int64, _ schedule: RevocationSchedule
    ) -> RevocationReport.CheckResult {
        switch result {
        case nil: return .noAnswer
        case .failure(let failure): return .failed(failure)
        case .success(let new):
            // A party between this host and the responder can show an old answer again while it is fresh.
            // One that knew nothing outdates no other.
            if let answer, answer.status != .unknown, new.thisUpdate < answer.thisUpdate { return .outdated }
            // A responder that forgot the certificate does not make it good.
            if revocation == nil || new.status != .unknown {
                answer = new
                answerEnd = schedule.end(of: new, receivedAt: now)
            }
            return .answered(new.status)
        }
    }
}
