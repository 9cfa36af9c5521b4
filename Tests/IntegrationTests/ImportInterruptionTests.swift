import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Imports that end before their file does, or whose Apple is not well.
@Suite struct ImportInterruptionTests: ImportSuite {
    let scene: ImportScene

    init() throws {
        scene = try ImportScene()
    }

    /// The first step reads the job, each further one commits at least a row.
    @Test(arguments: [2, 3, 5]) func `an import that ended anywhere goes on there`(steps: Int) throws {
        defer { stop() }
        let lines = file + ["user-9,2000000999999999,,,"]
        var job = try bench.run(lines, steps: steps).job
        #expect(job.state == .running)
        var runs = 1
        while job.state == .running, runs < 20 {
            job = try bench.run(lines, steps: steps).job
            runs += 1
        }
        #expect(job.state == .done && runs > 1)
        #expect(ImportProgress(words: job.cursor)?.numbers == [5, 4, 1, 0, 0, 0])
        #expect(try installation.database.count("SELECT count(*) FROM entitled.job") == 1)
        #expect(bench.refusedRows.split(separator: "\r\n").count == 2)
        try bench.untilApplied()
        try installation.expectNoDifferences()
    }

    @Test func `an Apple that turns away, fails and is slow loses nothing`() throws {
        defer { stop() }
        let history = try PlayedHistory(
            installation, lives.flatMap(\.notifications),
            faults: [
                StoreFault(.rateLimited, percent: 20, seconds: 0.05), StoreFault(.error, percent: 25),
                StoreFault(.slow, percent: 10, seconds: 0.3), StoreFault(.reset, percent: 10),
            ])
        let bench = try ImportFixture(installation, history)
        #expect(try bench.run(file).counts.numbers == [4, 4, 0, 0, 0, 0], "\(bench.refusedRows)")
        #expect(history.calls.contains { $0 != 200 })
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }

    /// What Apple does, and what of the reason a person reads.
    private static let outages: [(StoreFault, String)] = [
        // It never answers.
        (StoreFault(.slow, seconds: 600), "timed out"), (StoreFault(.error), "5000001"),
        (StoreFault(.outage, seconds: 600), "503"), (StoreFault(.rateLimited, seconds: 4), "rate"),
        (StoreFault(.badGateway), "502"), (StoreFault(.reset), "cannot be reached"), (StoreFault(.garbage), ""),
    ]

    /// The import waits in a process of its own; what the workers do goes on meanwhile.
    @Test(arguments: outages)
    func `an Apple that does not come back ends the import with the reason, holds up nothing, and loses nothing`(
        fault: StoreFault, part: String
    ) throws {
        defer { stop() }
        let history = try PlayedHistory(installation, lives.flatMap(\.notifications))
        let bench = try ImportFixture(installation, history)
        let lines = file + ["null,1,,,"]
        // One row is in before Apple is away.
        let begun = try bench.run(lines, steps: 3)
        #expect(begun.job.state == .running && begun.counts.imported >= 1)
        history.add(fault)
        let failed = Monitor<(job: Job, counts: ImportProgress)?>(nil)
        let importing = ServiceThread("import") {
            let result = try? bench.run(lines, requestTime: .milliseconds(700), patience: .seconds(2))
            failed.change { $0 = result }
        }
        // What Apple sends meanwhile is applied, and told.
        var other = SubscriberLife(app: Installation.app, seed: 1400)
        #expect(try installation.post(other.start(at: SystemClock().now())).status == 200)
        let event = try #require(try consumer.wait(1, timeout: .seconds(10)).first)
        #expect(event.type == "INITIAL_PURCHASE")
        #expect(failed.read { $0 == nil } || fault.kind == .garbage, "the import was over before")
        #expect(importing.join(timeout: .seconds(60)))
        let outcome = try #require(failed.read { $0 })
        if fault.kind == .garbage {
            // An answer that is none says nothing about other rows.
            #expect(outcome.job.state == .done && outcome.counts.refused > 1, "\(outcome.counts.numbers)")
            return
        }
        #expect(outcome.job.state == .failed && outcome.counts.refused == 0 && outcome.counts.unknown == 0)
        #expect(outcome.job.error?.contains(part) ?? false, "\(outcome.job.error ?? "no reason")")
        #expect(outcome.counts.rows == begun.counts.rows)
        history.clearFaults()
        let done = try bench.run(lines)
        #expect(done.job.id == begun.job.id && done.job.state == .done)
        #expect(done.counts.numbers == [5, 4, 0, 1, 0, 0], "\(bench.refusedRows)")
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }

    @Test func `a key that Apple refuses ends the job, and the next run goes on`() throws {
        defer { stop() }
        let history = try PlayedHistory(
            installation, lives.flatMap(\.notifications), faults: [StoreFault(.unauthorized)])
        let bench = try ImportFixture(installation, history)
        let failed = try bench.run(file)
        #expect(failed.job.state == .failed && failed.counts.rows == 0)
        history.clearFaults()
        let done = try bench.run(file)
        #expect(done.job.id == failed.job.id && done.counts.numbers == [4, 4, 0, 0, 0, 0])
    }

    @Test func `a file that gzip packed is imported as it is, and goes on packed or not`() throws {
        defer { stop() }
        let lines = file + ["null,1,,,", "user-9,2000000999999999,,,"]
        let begun = try bench.run(lines, steps: 3, isPacked: true)
        #expect(begun.job.state == .running && begun.counts.rows >= 1 && begun.job.fraction > 0)
        let further = try bench.run(lines, steps: 2)
        #expect(further.job.id == begun.job.id && further.counts.rows > begun.counts.rows)
        let done = try bench.run(lines, isPacked: true)
        #expect(done.job.id == begun.job.id && done.job.state == .done && done.job.fraction == 1)
        #expect(done.counts.numbers == [6, 4, 1, 1, 0, 0], "\(bench.refusedRows)")
        #expect(bench.refusedRows.contains("\r\n6,") && bench.refusedRows.contains("\r\n7,"))
        try bench.untilApplied()
        for (number, life) in lives.enumerated() { #expect(try owner(of: life) == "user-\(number)") }
        try installation.expectNoDifferences()
    }
}
