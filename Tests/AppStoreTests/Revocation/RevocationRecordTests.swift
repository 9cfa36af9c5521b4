import Base
import Crypto
import Testing

@testable import AppStore

/// What one certificate's record makes of answers, and when it is asked about again. Times in milliseconds.
@Suite(.enabled(if: TestPKI.isAvailable, "skipped: no openssl program"))
struct RevocationRecordTests {
    private static let pki = TestPKI.withResponder()
    private let now: Int64
    private let schedule = RevocationSchedule(longestRetry: 120_000)
    private let minute: Int64 = 60_000

    init() {
        // The certificates are made at their first use, and valid from then on.
        _ = RevocationRecordTests.pki
        now = SystemClock().now()
    }

    private func record() throws -> RevocationRecord {
        RevocationRecord(
            try #require(Certificate(der: RevocationRecordTests.pki.leaf)),
            issuer: try #require(Certificate(der: RevocationRecordTests.pki.intermediate)), now: now)
    }

    private func answer(_ status: OCSPAnswer.Status, at time: Int64, for lifetime: Int64 = 3_600_000)
        -> Result<OCSPAnswer, OCSPFailure>
    {
        .success(OCSPAnswer(status: status, thisUpdate: time, nextUpdate: time + lifetime))
    }

    private let revoked = OCSPAnswer.Status.revoked(OCSPAnswer.Revocation(date: 1, reason: 1))

    @Test func `a good answer from before the revocation is a replay`() throws {
        var record = try record()
        #expect(record.finish(answer(.good, at: now), at: now, schedule, chance: 0.5).after == .good)
        let later = now + minute
        #expect(record.finish(answer(revoked, at: later), at: later, schedule, chance: 0.5).after == .revoked)
        let replayed = record.finish(answer(.good, at: now), at: later, schedule, chance: 0.5)
        #expect(replayed.outcome == .outdated)
        #expect(replayed.after == .revoked)
        #expect(record.finish(answer(.good, at: later), at: later, schedule, chance: 0.5).after == .good)
    }

    @Test func `an answer that knew nothing does not hide an older one that says revoked`() throws {
        var record = try record()
        #expect(record.finish(answer(.unknown, at: now), at: now, schedule, chance: 0.5).after != .revoked)
        let older = record.finish(answer(revoked, at: now - minute), at: now, schedule, chance: 0.5)
        #expect(older.after == .revoked)
    }

    @Test func `a responder that forgot a revoked certificate does not clear it`() throws {
        var record = try record()
        _ = record.finish(answer(revoked, at: now), at: now, schedule, chance: 0.5)
        let report = record.finish(answer(.unknown, at: now + minute), at: now + minute, schedule, chance: 0.5)
        #expect(report.outcome == .answered(.unknown))
        #expect(report.after == .revoked)
    }

    @Test func `a failure leaves a good answer its time`() throws {
        var record = try record()
        _ = record.finish(answer(.good, at: now), at: now, schedule, chance: 0.5)
        #expect(record.finish(.failure(.untrusted), at: now + minute, schedule, chance: 0.5).after == .good)
        #expect(record.finish(nil, at: now + 64 * minute, schedule, chance: 0.5).after == .good)
        #expect(record.finish(nil, at: now + 65 * minute, schedule, chance: 0.5).after == .unanswered)
    }

    @Test(arguments: [(0.0, 27), (0.5, 30), (1.0, 33)] as [(Double, Int64)])
    func `an answer is refreshed after half of its time, spread by a tenth`(chance: Double, minutes: Int64) throws {
        var record = try record()
        let report = record.finish(answer(.good, at: now), at: now, schedule, chance: chance)
        #expect(abs(report.nextCheck - (now + minutes * minute)) <= 1)
    }

    @Test func `an answer is trusted a week at most, whatever it says`() throws {
        var record = try record()
        let year: Int64 = 365 * 86_400_000
        let report = record.finish(answer(.good, at: now, for: year), at: now, schedule, chance: 0.5)
        let week: Int64 = 7 * 86_400_000
        #expect(report.nextCheck == now + week / 2)
        #expect(record.status(at: now + week - 1) == .good)
        #expect(record.status(at: now + week) == .unanswered)
    }

    @Test func `an answer at its end is not asked for again in the same minute`() throws {
        var record = try record()
        let report = record.finish(answer(.good, at: now - minute, for: minute), at: now, schedule, chance: 0)
        #expect(report.nextCheck == now + minute)
    }

    @Test func `failures back off, up to a limit, and an answer ends that`() throws {
        var record = try record()
        let pauses = (0..<4).map { _ in
            record.finish(nil, at: now, schedule, chance: 0).nextCheck - now
        }
        #expect(pauses == [30_000, 60_000, 120_000, 120_000])
        #expect(record.finish(nil, at: now, schedule, chance: 1).nextCheck - now == 144_000)
        _ = record.finish(answer(.good, at: now), at: now, schedule, chance: 0)
        #expect(record.finish(.failure(.stale), at: now, schedule, chance: 0).nextCheck - now == 30_000)
    }

    @Test func `years of failures overflow nothing`() {
        #expect(schedule.retry(failures: .max, now: now, chance: 0) == now + 120_000)
    }

    @Test func `what a report tells is the change since the one before`() throws {
        var record = try record()
        let first = record.finish(answer(.good, at: now), at: now, schedule, chance: 0)
        #expect((first.before, first.after) == (.unanswered, .good))
        let second = record.finish(answer(revoked, at: now), at: now, schedule, chance: 0)
        #expect((second.before, second.after) == (.good, .revoked))
    }
}
