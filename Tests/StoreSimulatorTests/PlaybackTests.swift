import Base
import Synchronization
import Testing

@testable import StoreSimulator

@Suite struct PlaybackTests {
    private static func plan(_ subscribers: UInt64 = 3) -> PlaybackPlan {
        var plan = PlaybackPlan(end: testNow)
        plan.scenario = .year
        plan.subscribers = subscribers
        plan.seed = 3
        return plan
    }

    /// Plays to a receiver that answers by `status` of the body and of how often it came; what came, in order.
    private static func play(
        _ plan: PlaybackPlan, _ change: (inout Playback) -> Void = { _ in },
        status: @escaping @Sendable (Int) -> Int = { _ in 200 }
    ) throws -> (report: PlayReport, bodies: [[UInt8]]) {
        let came = Mutex<(bodies: [[UInt8]], times: [[UInt8]: Int])>(([], [:]))
        let listener = try NetworkTests.listener { request in
            let time = came.withLock { came in
                came.bodies.append(request.body)
                came.times[request.body, default: 0] += 1
                return came.times[request.body, default: 0]
            }
            return HTTPAnswer(status: status(time), body: Array(#"{"status":"seen"}"#.utf8))
        }
        defer { listener.stop() }
        var playback = Playback(plan: plan, receiver: try NetworkTests.url(listener))
        change(&playback)
        let report = playback.run(try SigningTests.pki.get())
        return (report, came.withLock { $0.bodies })
    }

    private static func wanted(_ plan: PlaybackPlan) -> [StoreNotification] {
        var letters: [StoreNotification] = []
        plan.forEach {
            letters.append($0.notification)
            return true
        }
        return letters
    }

    @Test func `one connection gets all in the order of their dates`() throws {
        let plan = PlaybackTests.plan()
        let (report, bodies) = try PlaybackTests.play(plan) { $0.connections = 1 }
        let wanted = PlaybackTests.wanted(plan)
        let uuids = try bodies.map { try JWSReading.payload(body: $0)["notificationUUID"]?.stringValue }
        #expect(uuids == wanted.map(\.uuid))
        #expect(zip(wanted, wanted.dropFirst()).allSatisfy { $0.signedDate <= $1.signedDate })
        #expect(report.failed == 0 && report.accepted == wanted.count)
        #expect(report.answers == ["200 seen": wanted.count])
        #expect(report.latencies.count == wanted.count)
    }

    @Test(arguments: [(1, 0.0), (7, 0.0), (3, 2000.0)])
    func `more than is signed ahead comes through`(ahead: Int, rate: Double) throws {
        let plan = PlaybackTests.plan(12)
        let (report, bodies) = try PlaybackTests.play(plan) {
            $0.ahead = ahead
            $0.rate = rate
            $0.connections = 8
        }
        #expect(report.accepted == PlaybackTests.wanted(plan).count)
        #expect(Set(bodies).count == bodies.count)
    }

    @Test func `what is not accepted comes again, the same bytes, until it is`() throws {
        let plan = PlaybackTests.plan()
        let (report, bodies) = try PlaybackTests.play(plan) {
            $0.retrySchedule = [.milliseconds(1), .milliseconds(2)]
        } status: {
            $0 < 3 ? 503 : 200
        }
        let count = PlaybackTests.wanted(plan).count
        #expect(report.requests == 3 * count && report.accepted == count && report.failed == 0)
        #expect(report.answers == ["503 seen": 2 * count, "200 seen": count])
        #expect(Set(bodies).count == count)
    }

    @Test func `in order, a life waits for its notification to be accepted, and others do not`() throws {
        let plan = PlaybackTests.plan()
        // The first attempts of each fail, for longer or shorter, so that later ones of the life would be before it.
        let attempts = Mutex<[[UInt8]: Int]>([:])
        let accepted = Mutex<[StoreNotification]>([])
        let wanted = PlaybackTests.wanted(plan)
        let numbers = Dictionary(uniqueKeysWithValues: wanted.enumerated().map { ($1.uuid, $0) })
        let listener = try NetworkTests.listener { request in
            let uuid = (try? JWSReading.payload(body: request.body)["notificationUUID"]?.stringValue) ?? nil
            guard let uuid, let number = numbers[uuid] else { return HTTPAnswer(status: 400, body: []) }
            let attempt = attempts.withLock { attempts in
                attempts[request.body, default: 0] += 1
                return attempts[request.body, default: 0]
            }
            guard attempt > number % 4 else { return HTTPAnswer(status: 503, body: []) }
            accepted.withLock { $0.append(wanted[number]) }
            return HTTPAnswer(status: 200, body: [])
        }
        defer { listener.stop() }
        var playback = Playback(plan: plan, receiver: try NetworkTests.url(listener))
        playback.connections = 8
        playback.keepsOrder = true
        playback.retrySchedule = [.milliseconds(3), .milliseconds(3), .milliseconds(3)]
        let report = playback.run(try SigningTests.pki.get())
        #expect(report.accepted == wanted.count && report.failed == 0)
        let came = accepted.withLock { $0 }
        var lives: [UInt64: [String]] = [:]
        plan.forEach {
            lives[$0.life, default: []].append($0.notification.uuid)
            return true
        }
        #expect(lives.count == 3)
        for life in lives.values {
            let uuids = Set(life)
            #expect(came.map(\.uuid).filter { uuids.contains($0) } == life)
        }
        // Lives overtake each other, which one queue for all would not do.
        #expect(came.map(\.uuid) != wanted.map(\.uuid))
    }

    @Test func `what is never accepted is counted`() throws {
        let plan = PlaybackTests.plan()
        let (report, _) = try PlaybackTests.play(plan) {
            $0.retrySchedule = [.milliseconds(1)]
        } status: { _ in
            500
        }
        let count = PlaybackTests.wanted(plan).count
        #expect(report.requests == 2 * count && report.accepted == 0 && report.failed == count)
        #expect(report.text.hasSuffix("\(count) never accepted"))
    }

    @Test(arguments: [false, true])
    func `duplicates are the same bytes, and nothing is lost by them`(isShuffled: Bool) throws {
        var plan = PlaybackTests.plan()
        let single = PlaybackTests.wanted(plan)
        plan.duplicates = 100
        plan.isShuffled = isShuffled
        let (report, bodies) = try PlaybackTests.play(plan)
        #expect(report.accepted == 2 * single.count)
        #expect(Dictionary(grouping: bodies) { $0 }.values.allSatisfy { $0.count == 2 })
        #expect(Set(bodies).count == single.count)
    }

    @Test func `shuffled is another order of the same`() {
        var plan = PlaybackTests.plan()
        let ordered = PlaybackTests.wanted(plan).map(\.uuid)
        plan.isShuffled = true
        let shuffled = PlaybackTests.wanted(plan).map(\.uuid)
        #expect(shuffled != ordered && Set(shuffled) == Set(ordered))
        #expect(PlaybackTests.wanted(plan).map(\.uuid) == shuffled)
    }

    @Test func `percentiles are within 4 percent`() {
        var histogram = LatencyHistogram()
        for milliseconds in 1...1000 {
            histogram.add(.milliseconds(milliseconds))
        }
        for (share, wanted) in [(0.5, 500.0), (0.99, 990), (1, 1000), (0.001, 1)] {
            #expect(abs(histogram.percentile(share) - wanted) <= wanted * 0.04)
        }
        #expect(LatencyHistogram().percentile(0.5) == 0)
        var extreme = LatencyHistogram()
        extreme.add(.seconds(1_000_000_000))
        extreme.add(.zero)
        #expect(extreme.count == 2)
    }

    @Test(arguments: [
        (Playback.Progress(planned: 7, sent: 0, isComplete: false, isSending: false), 0, "signing ahead: 7"),
        (Playback.Progress(planned: 12, sent: 3, isComplete: false, isSending: true), 0.25, "3 sent"),
        (Playback.Progress(planned: 6, sent: 3, isComplete: true, isSending: true), 0.5, "3 of 6"),
        (Playback.Progress(planned: 0, sent: 0, isComplete: true, isSending: true), 0, "0 sent"),
    ])
    func `the bar shows how far it is`(progress: Playback.Progress, fraction: Double, text: String) {
        #expect(progress.fraction == fraction && progress.text == text)
    }
}
