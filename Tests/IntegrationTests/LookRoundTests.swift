import AppStoreAPI
import Base
import Ingest
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

@testable import Database
@testable import Duties

/// A run of the duty that asks about accounts of two apps, whose Apple is not equally well.
@Suite struct LookRoundTests {
    private let installation: Installation

    init() throws {
        installation = try Installation()
    }

    /// Accounts that Apple does not know, each of which takes one request.
    private func line(_ apple: PlayedHistory, _ count: Int, isProbing: Bool = false) -> LookRound.Line {
        let admission = TransactionAdmission(
            apps: AppRegistry([Installation.registered]), verifier: installation.verifier,
            dictionaries: HeaderDictionaries())
        let due = (0..<count).map { number in
            let id = "2000000999\(100_000 + number)"
            let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: id)
            return AccountLookTable.Due(
                subject: AccountLookTable.Subject(key: key, transactionID: id, account: nil),
                progress: AccountLookTable.Progress(), turn: .restore, attempts: 0)
        }
        return LookRound.Line(
            place: apple.place, lookup: AccountLookup(client: apple.reader.client, admission: admission),
            pace: LookPace(.production), due: due, now: 0, isProbing: isProbing)
    }

    @Test func `what Apple is slow to answer for one app keeps none of another waiting`() throws {
        let slow = try PlayedHistory(installation, [], faults: [StoreFault(.slow, seconds: 6)])
        let well = try PlayedHistory(installation, [])
        // More than the pace has turns for in the time in which accounts are begun in any case.
        let round = LookRound([line(slow, 1), line(well, 100)], Cancellation())
        var answered: [Int] = []
        round.run { answered.append($0.line) }
        #expect(answered.count { $0 == 1 } == 100)
        #expect(answered.count == 101 && answered.last == 0)
        #expect(round.outcome(1).left == 0 && round.outcome(1).hasAnswer && !round.outcome(1).isUnwell)
        #expect(round.outcome(0).hasAnswer && round.outcome(0).failures == 0)
        // At the pace, of which one second comes at once.
        #expect(ContinuousClock.now - round.began >= .milliseconds(2_900))
    }

    @Test func `an Apple that does not answer is tried three times, and counts for its own app only`() throws {
        let unwell = try PlayedHistory(installation, [], faults: [StoreFault(.unauthorized)])
        let well = try PlayedHistory(installation, [])
        let round = LookRound([line(unwell, 10, isProbing: true), line(well, 10, isProbing: true)], Cancellation())
        var answered: [Int] = []
        round.run { answered.append($0.line) }
        #expect(answered.count { $0 == 0 } == 3 && answered.count { $0 == 1 } == 10)
        let (first, second) = (round.outcome(0), round.outcome(1))
        #expect(first.isFailing && first.isUnwell && first.left == 7)
        #expect(!second.isFailing && !second.isUnwell && second.left == 0)
    }

    @Test func `what cannot be kept ends the round, and with it the threads of every app`() throws {
        struct Full: Error {}
        let (one, other) = (try PlayedHistory(installation, []), try PlayedHistory(installation, []))
        let round = LookRound([line(one, 100), line(other, 100)], Cancellation())
        #expect(throws: Full.self) { try round.run { _ in throw Full() } }
        // At once, not when the time of a round is over.
        #expect(ContinuousClock.now - round.began < LookRound.time)
        let begun = one.calls.count + other.calls.count
        #expect(begun < 200 && round.outcome(0).left + round.outcome(1).left == 200 - begun)
    }
}
