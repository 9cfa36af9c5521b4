import AppStoreAPI
import Base
import Testing

@testable import Database
@testable import Duties

private let day: Int64 = 86_400_000
private let hour: Int64 = 3_600_000

/// Windows and pages.
@Suite struct HistoryCursorTests {
    /// Reads windows of two pages each to the end.
    private func windows(_ cursor: HistoryCursor) -> [Range<Int64>] {
        var cursor = cursor
        var windows: [Range<Int64>] = []
        while !cursor.isDone, windows.count < 1000 {
            windows.append(cursor.start..<cursor.end)
            cursor.advance(to: "next")
            #expect(cursor.token == "next")
            #expect(cursor.start == windows.last?.lowerBound)
            cursor.advance(to: nil)
            #expect(cursor.token == nil)
        }
        return windows
    }

    private static let stretches: [(Int64, Int64)] = [
        (0, 1), (5 * day, 5 * day + 10), (0, 30 * day), (0, 30 * day + 1), (7, 180 * day + 7),
    ]

    @Test(arguments: stretches)
    func `windows follow each other without a gap, none too wide`(from: Int64, until: Int64) {
        let windows = windows(HistoryCursor(from: from, until: until))
        #expect(windows.first?.lowerBound == from)
        #expect(windows.last?.upperBound == until)
        #expect(zip(windows, windows.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        #expect(windows.allSatisfy { $0.upperBound - $0.lowerBound <= 30 * day && !$0.isEmpty })
    }

    @Test func `a window whose token has expired is read again in parts`() {
        var cursor = HistoryCursor(from: 0, until: 24 * hour)
        cursor.advance(to: "a")
        cursor.narrow()
        #expect(cursor.start == 0)
        #expect(cursor.end == 3 * hour)
        #expect(cursor.token == nil)
        #expect(windows(cursor).count == 8)
        cursor.narrow()
        #expect(cursor.end == hour)
        #expect(cursor.isNarrowest)
        cursor.narrow()
        #expect(cursor.end == hour)
    }

    private static let skips: [(Int64, Int64)] = [(-5, 0), (3 * hour, 3 * hour), (day, day), (2 * day, day)]

    @Test(arguments: skips)
    func `what Apple no longer keeps is left out`(oldest: Int64, start: Int64) {
        var cursor = HistoryCursor(from: 0, until: day)
        cursor.skip(to: oldest)
        #expect(cursor.start == start)
        #expect(cursor.isDone == (start == day))
        #expect((0...1).contains(cursor.fraction))
    }

    @Test func `a cursor comes back from its words, and nothing else does`() {
        var cursor = HistoryCursor(from: 5, until: 100 * day)
        #expect(HistoryCursor(words: cursor.words) == cursor)
        cursor.advance(to: "a token")
        cursor.narrow()
        cursor.advance(to: "another")
        #expect(HistoryCursor(words: cursor.words) == cursor)
        let bad: [[String]] = [
            [], ["1"], ["1", "2", "3", "4", "x"], ["9", "5", "9", "9", "\(day)"], ["0", "9", "5", "4", "\(day)"],
            ["0", "9", "0", "10", "\(day)"], ["0", "9", "0", "9", "0"], ["-1", "9", "0", "9", "\(day)"],
            ["0", "\(Int64.max)", "0", "9", "\(day)"], ["0", "9", "0", "9", "\(day)", "t", "u"],
        ]
        for words in bad { #expect(HistoryCursor(words: words) == nil, "\(words)") }
    }

    private static let edges: [(Int64, Int64)] = [(.min, .max), (.max, .min), (0, 0), (.max, .max), (.min, .min)]

    @Test(arguments: edges)
    func `instants at the edge of what can be said do not trap`(from: Int64, until: Int64) {
        var cursor = HistoryCursor(from: from, until: until)
        for _ in 0..<3 {
            cursor.advance(to: nil)
            cursor.skip(to: from)
            cursor.narrow()
        }
        #expect((0...1).contains(cursor.fraction))
    }
}

/// What is asked for.
@Suite struct HistoryFilterTests {
    private let place = AppScope(app: "demo", environment: .sandbox)

    @Test func `several types are several questions, and a customer excludes them`() {
        let all = HistoryFilter(place)
        #expect(all.parts == 1)
        #expect(all.query(0, from: 1, to: 2).subject == .all)
        let types = HistoryFilter(place, types: ["REFUND", "DID_RENEW"], onlyFailures: true)
        #expect(types.parts == 2)
        #expect(types.query(1, from: 1, to: 2).subject == .type("DID_RENEW", subtype: nil))
        #expect(types.query(1, from: 1, to: 2).onlyFailures)
        let customer = HistoryFilter(place, types: ["REFUND", "DID_RENEW"], transactionID: "2000")
        #expect(customer.parts == 1)
        #expect(customer.query(0, from: 1, to: 2).subject == .customer(of: "2000"))
    }

    @Test func `a replay comes back from its JSON, and its words tell replays apart`() {
        let question = HistoryFilter(place, types: ["REFUND"], transactionID: "7", onlyFailures: true)
        let replay = HistoryReplay(question, from: 5, until: 9, sendsEvents: true)
        #expect(HistoryReplay(json: replay.json) == replay)
        #expect(HistoryReplay(json: .object([])) == nil)
        let plain = HistoryReplay(HistoryFilter(place), from: 5, until: 9)
        #expect(HistoryReplay(json: plain.json) == plain)
        func words(_ replay: HistoryReplay, rate: Int? = nil, from: String = "7d") -> String {
            replay.request(from: from, until: "0s", rate: rate, madeBy: "a test").words
        }
        let different = [
            words(plain), words(replay), words(plain, rate: 3), words(plain, from: "8d"),
            words(HistoryReplay(HistoryFilter(place, onlyFailures: true), from: 5, until: 9)),
            words(HistoryReplay(HistoryFilter(place), from: 5, until: 9, sendsEvents: true)),
            words(HistoryReplay(HistoryFilter(place, types: ["7"]), from: 5, until: 9)),
            words(HistoryReplay(HistoryFilter(place, transactionID: "7"), from: 5, until: 9)),
        ]
        #expect(Set(different).count == different.count)
        // The same words an hour later are the same replay.
        #expect(words(HistoryReplay(HistoryFilter(place), from: 6, until: 10)) == words(plain))
    }

    @Test func `a walk comes back from its words`() {
        let question = HistoryFilter(place, types: ["REFUND", "DID_RENEW"])
        let walk = HistoryScan(question, from: 0, until: 100 * day)
        #expect(HistoryScan(question, words: walk.words) == walk)
        #expect(!walk.isDone)
        #expect(HistoryScan(question, words: ["2"] + HistoryCursor(from: 0, until: 1).words)?.isDone == true)
        #expect(HistoryScan(question, words: [String]()) == nil)
        #expect(HistoryScan(question, words: ["-1"] + HistoryCursor(from: 0, until: 1).words) == nil)
    }
}
