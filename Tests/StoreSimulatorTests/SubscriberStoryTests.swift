import Base
import Synchronization
import Testing

@testable import StoreSimulator

@Suite struct SubscriberStoryTests {
    private static let story = Scenario.story.notifications(app: StoreApp(), seed: 4, number: 0, until: testNow)

    @Test func `the story fits into its year, in order`() {
        let dates = SubscriberStoryTests.story.map(\.signedDate)
        #expect(dates.first == testNow - SubscriberStory.year)
        #expect(zip(dates, dates.dropFirst()).allSatisfy { $0 < $1 })
        #expect(dates.allSatisfy { $0 <= testNow })
    }

    @Test func `every period but the last ends within the year, and none before the next begins`() throws {
        let transactions = SubscriberStoryTests.story.compactMap(\.transaction)
        let ends = transactions.compactMap { $0["expiresDate"]?.intValue }
        let last = try #require(ends.last)
        #expect(last - testNow > 300 * StoreProduct.day)
        for (earlier, later) in zip(SubscriberStoryTests.story, SubscriberStoryTests.story.dropFirst())
        where later.type == "DID_RENEW" && later.subtype == nil {
            #expect(earlier.renewal?["renewalDate"]?.intValue == later.signedDate || earlier.type == "ONE_TIME_CHARGE")
        }
    }

    @Test func `a live play sends nothing before it is signed`() throws {
        let early = Mutex<[Int64]>([])
        let listener = try NetworkTests.listener { request in
            let signed = (try? JWSReading.payload(body: request.body))?["signedDate"]?.intValue ?? .max
            early.withLock { $0.append(SystemClock().now() - signed) }
            return HTTPAnswer(status: 200, body: [])
        }
        defer { listener.stop() }
        // Only the last three are still to come: the story of this plan is nearly over.
        var plan = PlaybackPlan(end: SystemClock().now() + 45 * SubscriberStory.day)
        plan.scenario = .story
        var playback = Playback(plan: plan, receiver: try NetworkTests.url(listener))
        playback.connections = 1
        playback.isLive = true
        let report = playback.run(try SigningTests.pki.get())
        #expect(report.accepted == SubscriberStoryTests.story.count)
        #expect(early.withLock { $0 }.allSatisfy { $0 >= 0 }, "\(early.withLock { $0 })")
    }
}
