import FoundationEssentials
import TestSupport
import Testing

/// The real sender, fence and statements on a real database, against what is simply said.
@Suite struct DeliveryModelTests {
    /// As many runs as there is time for; `MODEL_CASES` in the environment asks for so many, however long they take, and
    /// `MODEL_SEED` for others than the first ones.
    private static let environment = ProcessInfo.processInfo.environment
    private static let asked = environment["MODEL_CASES"].flatMap { UInt64($0) }
    private static let (few, usual) = (UInt64(4), UInt64(24))
    private static let time = Duration.seconds(20)
    private static let first = environment["MODEL_SEED"].flatMap { UInt64($0) } ?? 1
    private static let length = 80

    /// What went wrong; nil if nothing did.
    private func fault(_ steps: [ModelStep], _ database: TestDatabase) throws -> String? {
        do {
            try ModelRun(database).take(steps)
            return nil
        } catch let fault as ModelRun.Fault {
            return fault.description
        }
    }

    @Test func `whatever happens, deliveries do what the model says, in order, and none is lost`() throws {
        let database = try TestCluster.shared.makeMigratedDatabase()
        let deadline = ContinuousClock.now + Self.time
        for run in 0..<(Self.asked ?? Self.usual) {
            if Self.asked == nil, run >= Self.few, ContinuousClock.now > deadline { return }
            let seed = Self.first + run
            let steps = ModelStep.steps(seed: seed, count: Self.length)
            guard let found = try fault(steps, database) else { continue }
            let fewest = try ModelStep.shrunk(steps) { try fault($0, database) != nil }
            Issue.record(
                "seed \(seed): \(found); at least: \(try fault(fewest, database) ?? "nothing") after \(fewest)")
            return
        }
    }
}
