import API
import Database
import Testing

@Suite struct ReplicaFreshnessTests {
    private let freshness = ReplicaFreshness(lag: .seconds(1))
    private let start = ContinuousClock.now

    private static func primary(_ position: Int64, timeline: Int64? = 1, noted: Int64? = 1) -> PrimaryState {
        PrimaryState(position: position, installation: "a", timeline: timeline, notedTimeline: noted)
    }

    private func moment(_ milliseconds: Int64) -> ContinuousClock.Instant { start + .milliseconds(milliseconds) }

    private func sample(_ milliseconds: Int64, _ position: Int64) {
        freshness.add(Self.primary(position), askedAt: moment(milliseconds))
    }

    private func required(_ id: String = "kim", at milliseconds: Int64) -> Int64? {
        freshness.required(for: id, at: moment(milliseconds))?.position
    }

    @Test func `the oldest look within the lag is what a standby must have`() {
        #expect(required(at: 0) == nil)
        for number in 0...10 { sample(Int64(number) * 200, Int64(number)) }
        #expect(required(at: 2000) == 5)
        #expect(required(at: 2001) == 6)
        #expect(required(at: 3000) == 10)
        // The primary has not been seen for longer than that: nothing can be told.
        #expect(required(at: 3001) == nil)
    }

    @Test func `what was written here must be within a look that began later`() {
        sample(0, 0)
        sample(200, 1)
        freshness.wrote(["kim"], at: moment(250))
        #expect(required(at: 300) == nil)
        #expect(required("lee", at: 300) == 0)
        sample(400, 2)
        #expect(required(at: 450) == 2)
        #expect(required("lee", at: 450) == 0)
        // By then the bound is later than the write.
        for number in 3...10 { sample(Int64(number) * 200, Int64(number)) }
        #expect(required(at: 1900) == 5)
    }

    @Test func `a write by another spelling of a UUID is a write about the same customer`() {
        let id = "1F0C2222-AAAA-4BBB-8CCC-0123456789AB"
        sample(0, 0)
        freshness.wrote([id], at: moment(100))
        #expect(required(id.lowercased(), at: 150) == nil)
        #expect(required("kim", at: 150) == 0)
        sample(200, 1)
        #expect(required(id.lowercased(), at: 250) == 1)
    }

    @Test func `more writes than are remembered count for all`() {
        sample(0, 0)
        for part in 0..<60 { freshness.wrote((0..<1000).map { "\(part) \($0)" }, at: moment(100)) }
        #expect(required("never written", at: 150) == nil)
        sample(200, 1)
        #expect(required("never written", at: 250) == 1)
        sample(1300, 2)
        #expect(required("never written", at: 1300) == 2)
    }

    @Test(arguments: [
        (StandbyState(position: 10, installation: "a", notedTimeline: 1), primary(10), true),
        (StandbyState(position: 9, installation: "a", notedTimeline: 1), primary(10), false),
        (StandbyState(position: nil, installation: "a", notedTimeline: 1), primary(0), false),
        (StandbyState(position: 10, installation: "b", notedTimeline: 1), primary(10), false),
        // A promotion that the leader has not noted yet, and a standby of the former primary after that.
        (StandbyState(position: 99, installation: "a", notedTimeline: 1), primary(10, timeline: 2), false),
        (StandbyState(position: 99, installation: "a", notedTimeline: 1), primary(10, timeline: 2, noted: 2), false),
        (StandbyState(position: 99, installation: "a", notedTimeline: 2), primary(10, timeline: 2, noted: 2), true),
        // A server that does not tell its timeline: its standby may be one of a former primary.
        (
            StandbyState(position: 10, installation: "a", notedTimeline: nil), primary(10, timeline: nil, noted: nil),
            false
        ),
    ])
    func `a standby is judged by position, installation and timeline`(
        standby: StandbyState, primary: PrimaryState, isFresh: Bool
    ) {
        #expect(standby.has(primary) == isFresh)
    }
}
