import AppStore
import Base
import Daemon
import HTTP
import StoreSimulator
import Synchronization
import TestSupport
import Testing

@testable import AppStoreAPI

/// The sender of notifications: what it delivers, tries again and tells.
@Suite struct StoreServiceTests {
    private final class Receiver: Sendable {
        private struct Handler: HTTPHandler {
            let receiver: Receiver

            func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
                responder.respond(HTTPResponse(status: receiver.status(request.body)))
            }
        }

        private let seen = Mutex<[[UInt8]: Int]>([:])
        /// The status by the number of the attempt.
        private let answer: @Sendable (Int) -> Int
        private let server = Mutex<HTTPServer?>(nil)

        init(_ answer: @escaping @Sendable (Int) -> Int = { _ in 200 }) throws {
            self.answer = answer
            let made = HTTPServer(
                HTTPServerConfiguration(role: "receiver", listen: "127.0.0.1:0"), handler: Handler(receiver: self),
                logger: .silent)
            try made.start()
            server.withLock { $0 = made }
        }

        func stop() {
            server.withLock { server in
                defer { server = nil }
                return server
            }?.drain(until: .now + .seconds(1))
        }

        fileprivate func status(_ body: [UInt8]) -> Int {
            answer(
                seen.withLock { seen in
                    seen[body, default: 0] += 1
                    return seen[body, default: 0]
                })
        }

        /// By the bodies that came: how often each.
        var counts: [Int] { seen.withLock { Array($0.values) } }
        var url: String { "http://127.0.0.1:\(server.withLock { $0?.boundPort } ?? 0)/apple/notifications" }
    }

    private static func items(_ bench: StoreFixture, onlyFailures: Bool) throws -> [NotificationHistoryItem] {
        let now = SystemClock().now()
        let environment: StoreEnvironment = bench.app.isSandbox ? .sandbox : .production
        var pages = try bench.client().notificationPages(
            NotificationHistoryQuery(from: now - 29 * StoreFixture.day, to: now, onlyFailures: onlyFailures),
            in: environment)
        var items: [NotificationHistoryItem] = []
        while let page = try pages.next() { items += page.items }
        return items
    }

    @Test func `what was delivered is no failure`() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let bench = try StoreFixture { $0.receiver = ReceiverURL(receiver.url) }
        let all = try StoreServiceTests.items(bench, onlyFailures: false).count
        try eventually("everything is delivered") {
            try StoreServiceTests.items(bench, onlyFailures: true).isEmpty
        }
        #expect(receiver.counts.count == all && receiver.counts.allSatisfy { $0 == 1 })
        #expect(all > 100)
    }

    @Test func `in production it is tried again, with the same bytes, five times`() throws {
        let receiver = try Receiver { _ in 503 }
        defer { receiver.stop() }
        // 157 hours in a second and a half.
        let bench = try StoreFixture(.production) {
            $0.receiver = ReceiverURL(receiver.url)
            $0.speed = 400_000
        }
        try eventually("six attempts each") { receiver.counts.count > 100 && receiver.counts.allSatisfy { $0 == 6 } }
        let failed = try StoreServiceTests.items(bench, onlyFailures: true)
        #expect(failed.count == receiver.counts.count)
        for item in failed {
            let dates = item.attempts.compactMap(\.date)
            #expect(item.attempts.allSatisfy { $0.result?.rawValue == "UNSUCCESSFUL_HTTP_RESPONSE_CODE" })
            #expect(dates.count == 6)
            // 1, 12, 24, 48 and 72 hours after the one before.
            for (wait, pair) in zip([1, 12, 24, 48, 72], zip(dates, dates.dropFirst())) {
                #expect(pair.1 - pair.0 >= Int64(wait) * 3_600_000 / 400_000 - 1)
            }
        }
    }

    @Test func `in the sandbox it is tried once`() throws {
        let receiver = try Receiver { $0 == 1 ? 500 : 200 }
        defer { receiver.stop() }
        let bench = try StoreFixture {
            $0.receiver = ReceiverURL(receiver.url)
            $0.speed = 1e9
        }
        let all = try StoreServiceTests.items(bench, onlyFailures: false).count
        try eventually("everything was tried") {
            try StoreServiceTests.items(bench, onlyFailures: true).filter { !$0.attempts.isEmpty }.count == all
        }
        #expect(receiver.counts.allSatisfy { $0 == 1 })
    }

    @Test func `what is lost never arrives, the same with the same seed`() throws {
        func lost() throws -> Set<String> {
            let receiver = try Receiver()
            defer { receiver.stop() }
            let bench = try StoreFixture {
                $0.receiver = ReceiverURL(receiver.url)
                $0.lost = 30
            }
            let all = try StoreServiceTests.items(bench, onlyFailures: false).count
            try eventually("everything was tried") {
                try StoreServiceTests.items(bench, onlyFailures: false).allSatisfy { !$0.attempts.isEmpty }
            }
            let failed = try StoreServiceTests.items(bench, onlyFailures: true)
            #expect(receiver.counts.count == all - failed.count)
            #expect((all / 10...all / 2).contains(failed.count))
            let uuids = try failed.map { try $0.data.get().notification?.notificationUUID }
            return Set(uuids.compactMap(\.self))
        }
        #expect(try lost() == lost())
    }

    @Test func `a test notification is sent, and told of when it was tried`() throws {
        let receiver = try Receiver()
        defer { receiver.stop() }
        let bench = try StoreFixture { $0.receiver = ReceiverURL(receiver.url) }
        let client = try bench.client()
        let token = try client.requestTestNotification(in: .sandbox)
        var known: NotificationHistoryItem?
        try eventually("it was tried") {
            known = try client.testNotificationStatus(token, in: .sandbox)
            return known != nil
        }
        #expect(try known?.data.get().notification?.notificationType == .test)
        #expect(known?.attempts.map(\.result) == [.success])
        #expect(try client.testNotificationStatus("no_such", in: .sandbox) == nil)
    }

    @Test func `without a URL there is no test notification`() throws {
        let bench = try StoreFixture()
        #expect(
            try failure { try bench.client().requestTestNotification(in: .sandbox) }.code
                == .serverNotificationURLNotFound)
    }

    @Test func `a limit of requests is answered with the moment to come again`() throws {
        let bench = try StoreFixture { $0.requestsPerSecond = 2 }
        let client = try bench.client()
        let began = ContinuousClock.now
        for _ in 0..<7 { _ = try client.transaction(bench.subscriber.latest.id, in: .only(.sandbox)) }
        #expect(ContinuousClock.now - began > .seconds(2))
        #expect(bench.metrics.exposition().contains(#"outcome="rate_limited""#))
    }

    @Test func `a history too far back or backwards is refused, by Apple's codes`() throws {
        let bench = try StoreFixture()
        let client = try bench.client()
        let now = SystemClock().now()
        func code(_ query: NotificationHistoryQuery) throws -> ServerAPIErrorCode? {
            try failure { try client.notificationPage(query, in: .sandbox) }.code
        }
        #expect(
            try code(NotificationHistoryQuery(from: now - 31 * StoreFixture.day, to: now)) == .startDateTooFarInPast)
        #expect(try code(NotificationHistoryQuery(from: now, to: now - 1)) == .startDateAfterEndDate)
        var query = NotificationHistoryQuery(from: now - 1000, to: now, subject: .type("NO_SUCH", subtype: nil))
        #expect(try code(query) == .invalidNotificationType)
        query.subject = .customer(of: "123")
        #expect(try code(query) == .transactionIDNotFound)
        query.subject = .customer(of: "abc")
        #expect(try code(query) == .invalidTransactionID)
    }
}
