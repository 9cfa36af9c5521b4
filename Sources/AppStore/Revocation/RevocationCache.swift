import Base
import Crypto
import Synchronization

/// What is known about whether the certificates of genuine chains are revoked, and which of them are to be asked about.
///
/// Pure but for its clock and its lock: the checker, which has a network, asks (`takeDue`, `finish`), and verifiers read.
/// Only certificates of verified chains get in, so only the holder of a genuine key can make it ask somewhere or
/// push entries out.
package final class RevocationCache: Sendable {
    /// Verifying and asking wait for each other no longer than a lookup in a dictionary takes.
    private let records = Mutex<[[UInt8]: RevocationRecord]>([:])
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)
    private let capacity: Int
    private let schedule: RevocationSchedule
    private let clock: any WallClock
    private let chance: @Sendable () -> Double
    private let remembered: [[UInt8]: OCSPAnswer]

    /// - Parameters:
    ///   - capacity: certificates at most; beyond, the one that was not seen for the longest time is forgotten.
    ///   - longestRetry: between two attempts at most, while a certificate's responder does not answer.
    ///   - remembered: what was known when the process ended last, by the certificate's fingerprint.
    ///   - chance: 0...1, for spreading checks in time.
    package init(
        capacity: Int = 128, longestRetry: Duration = .seconds(3600), remembered: [[UInt8]: OCSPAnswer] = [:],
        clock: any WallClock = SystemClock(),
        chance: @escaping @Sendable () -> Double = { .random(in: 0...1) }
    ) {
        self.capacity = max(2, capacity)
        schedule = RevocationSchedule(longestRetry: longestRetry.milliseconds)
        self.remembered = remembered
        self.clock = clock
        self.chance = chance
    }

    // MARK: - For those who verify

    enum Verdict: Equatable {
        case passes
        /// Which certificate, in words.
        case revoked(String, OCSPAnswer.Revocation)
        /// Required, and not there.
        case unanswered(String)
    }

    /// Whether what is known lets data with this chain pass; enters the chain if it is new.
    ///
    /// A certificate that is valid now must not be revoked at all. One that has expired is judged by what was known last:
    /// what was signed before the revocation passes where the reason leaves older signatures their worth. It never
    /// needs an answer, and neither does one that names no responder, since there is none to ask.
    func verdict(on path: CertificatePath, signedAt date: Int64?, requiresAnswer: Bool) -> Verdict {
        let now = clock.now()
        let (verdict, isNew) = records.withLock { records in
            let leaf = see(path.leaf, path.intermediate, &records, now)
            let authority = see(path.intermediate, path.anchor, &records, now)
            if leaf.isNew || authority.isNew {
                RevocationCache.forgetOldest(beyond: capacity, &records)
            }
            let judged = [("signing certificate", leaf.record), ("intermediate certificate", authority.record)]
            return (RevocationCache.judge(judged, date, requiresAnswer, now), leaf.isNew || authority.isNew)
        }
        if isNew {
            listener.withLock { $0 }?()
        }
        return verdict
    }

    private func see(
        _ certificate: Certificate, _ issuer: Certificate, _ records: inout [[UInt8]: RevocationRecord], _ now: Int64
    ) -> (record: RevocationRecord, isNew: Bool) {
        if let record = records[certificate.fingerprint] {
            // Written rarely: the order among what was seen within a minute does not matter.
            if now &- record.lastSeen > 60_000 {
                records[certificate.fingerprint]?.lastSeen = now
            }
            return (record, false)
        }
        var record = RevocationRecord(certificate, issuer: issuer, now: now)
        if let answer = remembered[certificate.fingerprint] { record.restore(answer, schedule) }
        records[certificate.fingerprint] = record
        return (record, true)
    }

    private static func judge(
        _ judged: [(name: String, record: RevocationRecord)], _ date: Int64?, _ requiresAnswer: Bool, _ now: Int64
    ) -> Verdict {
        for (name, record) in judged {
            guard let revocation = record.revocation else { continue }
            let isOlder = date.map { $0 < revocation.date } ?? false
            let isHistory = !record.certificate.isValid(at: now)
            if !(isHistory && isOlder && revocation.leavesOlderSignatures) { return .revoked(name, revocation) }
        }
        guard requiresAnswer else { return .passes }
        for (name, record) in judged where record.isAsked(at: now) && record.status(at: now) != .good {
            return .unanswered(name)
        }
        return .passes
    }

    /// Those known to be revoked go last: forgetting one would let it pass until it is asked about again.
    private static func forgetOldest(beyond capacity: Int, _ records: inout [[UInt8]: RevocationRecord]) {
        while records.count > capacity {
            let oldest = records.min { one, other in
                let (first, second) = (one.value.revocation != nil, other.value.revocation != nil)
                return first == second ? one.value.lastSeen < other.value.lastSeen : !first
            }
            guard let oldest else { return }
            records[oldest.key] = nil
        }
    }

    // MARK: - For those who ask

    /// Who is told, by a call on the verifying thread, that there is something new to ask about.
    package func listen(_ listener: @escaping @Sendable () -> Void) {
        self.listener.withLock { $0 = listener }
    }

    /// What is to be asked now; each is the caller's alone until `finish` is called for it.
    package func takeDue() -> [RevocationCheck] {
        let now = clock.now()
        return records.withLock { records in
            var due: [RevocationCheck] = []
            for (key, record) in records where record.isDue(at: now) {
                guard let check = record.check else { continue }
                records[key]?.isInFlight = true
                due.append(check)
            }
            return due
        }
    }

    /// Until something is due; nil if nothing will be, as far as is known.
    package func pause() -> Duration? {
        let now = clock.now()
        let next = records.withLock { records in
            records.values.filter { !$0.isInFlight && $0.isAsked(at: now) }.map(\.nextCheck).min()
        }
        return next.map { .milliseconds(max(0, $0 &- now)) }
    }

    /// Takes what a responder sent: the body of a response, or nil if there was none. Nil for a certificate that was
    /// forgotten meanwhile.
    package func finish(_ check: RevocationCheck, _ response: [UInt8]?) -> RevocationReport? {
        let now = clock.now()
        let result = response.map { body in
            OCSPResponse.read(
                body, about: check.certificate, issuedBy: check.issuer, at: now, leeway: RevocationSchedule.leeway)
        }
        let chance = chance()
        return records.withLock { records in
            records[check.certificate.fingerprint]?.finish(result, at: now, schedule, chance: chance)
        }
    }

    /// What should be remembered when the process ends: of what was asked about, and of what was remembered before.
    package func answers() -> [[UInt8]: OCSPAnswer] {
        let known = records.withLock { $0.compactMapValues(\.answer) }
        return remembered.merging(known) { $1 }.filter { $0.value.status != .unknown }
    }

    /// How many certificates there are of each status.
    package func census() -> [RevocationStatus: Int] {
        let now = clock.now()
        return records.withLock { records in
            records.values.reduce(into: [:]) { census, record in census[record.status(at: now), default: 0] += 1 }
        }
    }
}
