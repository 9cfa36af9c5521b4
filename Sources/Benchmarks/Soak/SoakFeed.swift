import Base
import Daemon
import StoreSimulator

/// Notifications without end, signed just before they are sent, by threads of their own; some of each hundred cannot be
/// applied.
final class SoakFeed: Sendable {
    /// What is sent within a time.
    struct Chunk: Sendable {
        let requests: MemoryRequests
        /// Of `requests`, those that must never become records.
        let poison: Set<Int>
        /// The `originalTransactionId` of purchases that are told of for the first time, by the request.
        let fresh: [Int: String]
    }

    private struct State {
        var ready: [Int: Chunk] = [:]
        var taken = 0
        var isEnding = false
        var failure: (any Error)?
    }

    /// One of so many cannot be applied.
    private static let poisonShare = 100
    /// Portions that wait at most, and threads that make them.
    private static let ahead = 3
    private static let threads = 2
    /// Lives that are told side by side.
    private static let livesAtOnce = 200
    private static let poisonSeed: UInt64 = 666

    private let state = Monitor(State())
    private let size: Int
    private let signer: NotificationSigner
    /// Of a chain that no one trusts.
    private let stranger: NotificationSigner

    /// - Parameter size: requests of a chunk.
    init(size: Int, signer: NotificationSigner, stranger: NotificationSigner) {
        (self.size, self.signer, self.stranger) = (size, signer, stranger)
        for thread in 0..<SoakFeed.threads {
            _ = ServiceThread("feed-\(thread)") { [self] in
                var number = thread
                // Each makes every other chunk, of lives of its own.
                var source = LifeSource(seed: UInt64(2026 + thread), livesAtOnce: SoakFeed.livesAtOnce)
                while wants(number) {
                    make(number, &source)
                    number += SoakFeed.threads
                }
            }
        }
    }

    /// The next chunk; waits for it.
    func next() throws -> Chunk {
        let next = state.wait(timeout: .seconds(60)) { state -> Result<Chunk, any Error>? in
            if let failure = state.failure { return .failure(failure) }
            guard let chunk = state.ready.removeValue(forKey: state.taken) else { return nil }
            state.taken += 1
            return .success(chunk)
        }
        // Those who make portions wait for room.
        state.change { _ in }
        guard let next else { throw BenchmarkFailure("notifications are not signed fast enough") }
        return try next.get()
    }

    func end() { state.change { $0.isEnding = true } }

    // MARK: - The threads

    private func wants(_ number: Int) -> Bool {
        state.wait { state -> Bool? in
            if state.isEnding { return false }
            return number < state.taken + SoakFeed.ahead ? true : nil
        } ?? false
    }

    private func make(_ number: Int, _ source: inout LifeSource) {
        do {
            let chunk = try chunk(number, &source)
            state.change { $0.ready[number] = chunk }
        } catch {
            state.change { $0.failure = error }
        }
    }

    private func chunk(_ number: Int, _ source: inout LifeSource) throws -> Chunk {
        var requests: [MemoryRequests.Request] = []
        var poison: Set<Int> = []
        var fresh: [Int: String] = [:]
        for place in 0..<size {
            let count = number * size + place
            if count % SoakFeed.poisonShare == SoakFeed.poisonShare / 2 {
                poison.insert(place)
                requests.append(request(try poisoned(UInt64(count / SoakFeed.poisonShare))))
                continue
            }
            let told = source.next()
            if let purchase = told.isFresh ? told.notification.transaction?["originalTransactionId"]?.stringValue : nil
            {
                fresh[place] = purchase
            }
            requests.append(request(try signer.sign(told.notification).body))
        }
        return Chunk(requests: MemoryRequests(requests), poison: poison, fresh: fresh)
    }

    private func request(_ body: [UInt8]) -> MemoryRequests.Request {
        MemoryRequests.Request(bytes: RequestBytes.post(RequestBytes.notifications, body))
    }

    /// A product that the database of the soak refuses, so that everything else of the transaction fails with it; of twenty
    /// that cannot be applied one is of it.
    static let refusedProduct = "refused"
    private static let refusedShare: UInt64 = 20

    /// A product that only the database refuses now and then; else in turn a product id that no database keeps, and a
    /// transaction of a chain that is not Apple's.
    private func poisoned(_ number: UInt64) throws -> [UInt8] {
        var life = SubscriberLife(seed: SoakFeed.poisonSeed, number: number)
        var notification = life.start(at: SystemClock().now() - 60_000)
        if number % 2 == 0 {
            guard case .data(let fields, let transaction?, let renewal, let status) = notification.content,
                let members = transaction.members
            else { return [] }
            let product = number % SoakFeed.refusedShare == 0 ? SoakFeed.refusedProduct : "pro\u{0}monthly"
            let changed = members.map { member in
                member.name == "productId" ? JSON.Member(name: member.name, value: .string(product)) : member
            }
            notification.content = .data(fields, transaction: .object(changed), renewal: renewal, status: status)
            return try signer.sign(notification).body
        }
        let payload = try notification.payload { try stranger.sign($0) }
        return NotificationSigner.body(try signer.sign(bytes: payload.bytes))
    }
}

/// What lives of a seed are told of, in the order of their dates among those that are told side by side.
private struct LifeSource {
    private let seed: UInt64
    private let livesAtOnce: Int
    private var number: UInt64 = 0
    private var waiting: [StoreNotification] = []
    private var position = 0
    private var known: Set<String> = []

    init(seed: UInt64, livesAtOnce: Int) {
        (self.seed, self.livesAtOnce) = (seed, livesAtOnce)
    }

    mutating func next() -> (notification: StoreNotification, isFresh: Bool) {
        while position >= waiting.count { refill() }
        defer { position += 1 }
        let notification = waiting[position]
        let purchase = notification.transaction?["originalTransactionId"]?.stringValue
        return (notification, purchase.map { known.insert($0).inserted } ?? false)
    }

    private mutating func refill() {
        let now = SystemClock().now()
        let lives = number..<number + UInt64(livesAtOnce)
        number = lives.upperBound
        known.removeAll(keepingCapacity: true)
        position = 0
        waiting = lives.flatMap { Scenario.mixed.notifications(app: StoreApp(), seed: seed, number: $0, until: now) }
            .enumerated().sorted { ($0.element.signedDate, $0.offset) < ($1.element.signedDate, $1.offset) }
            .map(\.element)
    }
}
