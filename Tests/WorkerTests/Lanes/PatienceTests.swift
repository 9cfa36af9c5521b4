import Base
import Database
import TestSupport
import Testing

@testable import Worker

@Suite struct PatienceTests {
    /// A statement that waits for a lock, or takes long, ends by its time limit and not with its session.
    @Test(arguments: [1, 2, 5, 10, 30, 120])
    func `a session outlives the time limits of its statements, and leases outlive its silence`(seconds: Int) {
        let lease = Duration.seconds(seconds)
        for grouping in [LaneGrouping(), LaneGrouping(.one), LaneGrouping(TestGroups.four)] {
            #expect(WorkerRole.patience(lease: lease, grouping) > Fence.limit(lease: lease))
        }
        if seconds >= 5 { #expect(WorkerRole.patience(lease: lease, LaneGrouping(TestGroups.four)) < lease) }
    }
}
