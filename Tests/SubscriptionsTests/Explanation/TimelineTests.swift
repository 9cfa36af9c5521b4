import Base
import Subscriptions
import Testing

/// What the steps become once it is known what was really sent.
struct TimelineTests {
    private func trace(_ state: String = "delivered") -> EventTrace {
        EventTrace(
            made: epoch, reason: nil, deliveries: [DeliveryTrace(endpoint: "ep_1", state: state, attempts: 1)])
    }

    /// All that was drafted was sent, but for the types that are left out.
    private func entries(_ life: Life, until now: Int64? = nil, without: Set<EventType> = []) -> [TimelineEntry] {
        let steps = ReplayTests.steps(life, until: now)
        let drafts = steps.flatMap { $0.drafts + $0.ends }.filter { !without.contains($0.type) }
        let traces = Dictionary(drafts.map { ($0.id, trace()) }) { first, _ in first }
        return Timeline.entries(of: life.key, steps, traces: traces)
    }

    private func ended() -> Life {
        var life = Life()
        _ = (life.start(), life.autoRenewOff(at: epoch + day))
        return life
    }

    @Test func `an end that was told is an entry of its own`() throws {
        let life = ended()
        let entries = entries(life, until: life.expires + day)
        #expect(
            entries.map(\.title) == [
                "SUBSCRIBED INITIAL_BUY", "DID_CHANGE_RENEWAL_STATUS AUTO_RENEW_DISABLED", "time passed",
            ])
        let last = try #require(entries.last)
        #expect(last.events.map(\.type) == ["EXPIRATION"])
        #expect(last.events.first?.trace == trace())
        let sentence = "pro_monthly ended \(DisplayText.time(life.expires)): the customer had switched renewal off"
        #expect(last.changes.map(\.sentence) == [sentence])
    }

    @Test func `an end that was not told is left out, unless nothing came after it`() {
        var life = ended()
        let late = life.expires + day
        #expect(entries(life, until: late, without: [.expiration]).last?.events.first?.trace == nil)
        #expect(entries(life, until: late, without: [.expiration]).count == 3)
        _ = life.resubscribe(at: late)
        #expect(entries(life, until: late, without: [.expiration]).map(\.title).last == "SUBSCRIBED RESUBSCRIBE")
        #expect(entries(life, until: late, without: [.expiration]).count == 3)
        #expect(entries(life, until: late).count == 4)
    }

    @Test func `an end in the step that brought it is told there, with its reason as it was sent`() {
        var life = Life()
        _ = (life.start(), life.refund(at: epoch + day))
        let last = entries(life).last
        #expect(last?.events.map(\.type) == ["CANCELLATION", "EXPIRATION"])
        #expect(last?.events.map(\.reason) == ["CUSTOMER_SUPPORT", "CUSTOMER_SUPPORT"])
        #expect(last?.changes.map(\.name) == ["refunded", "access", "ended"])
    }

    @Test func `entries of several purchases and of other kinds stand in the order of time`() {
        let action = TimelineEntry(.action("given to bob"), at: epoch + 2 * hour)
        let first = TimelineEntry(.time, at: epoch + day)
        let timeline = Timeline([first] + entries(ended()) + [action], order: .heard)
        #expect(timeline.entries.map(\.instant) == timeline.entries.map(\.instant).sorted())
        #expect(timeline.entries.map(\.title)[1] == "given to bob")
        // Of one instant, the order in which they were given.
        #expect(timeline.entries.suffix(2).map(\.title).first == "time passed")
    }

    @Test func `what was signed first comes first, and with the other order what came first`() {
        let old = TimelineEntry(.observation, at: epoch + 2 * day, signed: epoch)
        let done = TimelineEntry(.action("given to bob"), at: epoch + day)
        let new = TimelineEntry(.observation, at: epoch + hour, signed: epoch + hour)
        #expect(Timeline([new, done, old]).entries == [old, new, done])
        #expect(Timeline([old, new, done], order: .heard).entries == [new, done, old])
        // Signed at one instant: in the order of arrival.
        let again = TimelineEntry(.observation, at: epoch + day, signed: epoch)
        #expect(Timeline([old, again]).entries == [again, old])
    }

    /// As after a backfill: all of it at once, the newest first.
    @Test func `a life that came backwards reads as it was lived, and what was told stays what was told`() throws {
        var life = Life()
        _ = (life.start(), life.autoRenewOff(at: epoch + day), life.autoRenewOn(at: epoch + 2 * day))
        _ = life.renew(at: epoch + 30 * day)
        let now = epoch + 40 * day
        let arrivals = ReplayTests.arrivals(life.tellings).reversed().enumerated().map { place, arrival in
            PurchaseArrival(
                arrived: now + Int64(place), isFetched: true, facts: arrival.facts, cause: arrival.cause)
        }
        let replay = PurchaseReplay(of: life.key, confirmation: ExpiryConfirmation(patience: day))
        func entries(_ order: TimelineOrder) -> [TimelineEntry] {
            let steps = replay.steps(arrivals, until: now + day, order: order)
            return Timeline(
                Timeline.entries(of: life.key, steps, traces: [:]), order: order
            ).entries
        }
        let heard = entries(.heard)
        #expect(heard.map(\.title).first == "DID_RENEW")
        #expect(heard.flatMap(\.changes).contains(.nothing(.newerWasKnown)))
        let happened = entries(.happened)
        #expect(happened.compactMap(\.signed) == happened.compactMap(\.signed).sorted())
        // As if it had come in time.
        let inTime = Timeline.entries(of: life.key, ReplayTests.steps(life), traces: [:])
        #expect(happened.map(\.title) == inTime.map(\.title))
        #expect(happened.map(\.changes) == inTime.map(\.changes))
        #expect(happened.map(\.productID) == inTime.map(\.productID))
        // What was told depends on what was known, and is the same in both.
        for entry in happened {
            #expect(heard.first { $0.kind == entry.kind }?.events == entry.events)
        }
    }

    @Test func `the newest are shown and the others counted`() {
        let timeline = Timeline((0..<70).map { TimelineEntry(.time, at: $0) })
        #expect(timeline.newest(50).earlier == 20)
        #expect(timeline.newest(50).entries.first?.instant == 20)
        #expect(timeline.newest(70).earlier == 0)
        #expect(timeline.newest(.max).entries.count == 70)
    }

    @Test(arguments: [1, 3, 50, 69, 70, 200])
    func `pages show every entry once, also where many are of one instant`(limit: Int) {
        let instants: [Int64] = (0..<20).map { $0 / 5 } + Array(repeating: 77, count: 30) + (100..<120)
        let timeline = Timeline(instants.shuffled().map { TimelineEntry(.time, at: $0) })
        var shown: [Int64] = []
        while shown.count < instants.count {
            let page = timeline.newest(limit, skipping: shown.count)
            guard !page.entries.isEmpty else { break }
            shown = page.entries.map(\.instant) + shown
            #expect(page.entries.count <= limit)
            #expect(page.earlier == instants.count - shown.count)
        }
        #expect(shown == instants)
        for beyond in [70, 71, Int.max] {
            #expect(timeline.newest(limit, skipping: beyond).entries.isEmpty)
            #expect(timeline.newest(limit, skipping: beyond).earlier == 0)
        }
    }

    @Test(arguments: [(0, false), (10 * 60 * second, false), (10 * 60 * second + 1, true)] as [(Int64, Bool)])
    func `what came much later than it was signed says so`(delay: Int64, expected: Bool) {
        #expect(TimelineEntry(.observation, at: epoch + delay, signed: epoch).isLate == expected)
    }

    @Test func `programs get the same`() throws {
        let json = Timeline(entries(ended())).json
        let entry = try #require(json.arrayValue?.last)
        #expect(entry["type"]?.stringValue == "DID_CHANGE_RENEWAL_STATUS")
        #expect(entry["subtype"]?.stringValue == "AUTO_RENEW_DISABLED")
        #expect(entry["kind"]?.stringValue == "notification")
        #expect(entry["original_transaction_id"]?.stringValue == "1000")
        #expect(entry["signed_at"] == .date(epoch + day))
        #expect(entry["changes"]?.arrayValue?.first?["change"]?.stringValue == "auto_renew_off")
        let event = try #require(entry["events"]?.arrayValue?.first)
        #expect(event["type"]?.stringValue == "CANCELLATION")
        #expect(event["reason"]?.stringValue == "UNSUBSCRIBE")
        #expect(event["deliveries"]?.arrayValue?.first?["state"]?.stringValue == "delivered")
    }
}
