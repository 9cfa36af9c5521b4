import Base

/// Everything that a simulated store knows and has to do. Changed by one thread at a time.
struct StoreState {
    let settings: StoreSettings
    var ledger: StoreLedger
    var faults: FaultQueue
    var lost: Int
    /// In the order in which they were signed.
    private(set) var history: [HistoryEntry] = []
    /// By token.
    private(set) var tests: [String: Int] = [:]
    var massExtensions: [MassExtension] = []
    /// What sellers said, by transaction id.
    var consumption: [String: JSON] = [:]
    private(set) var calls: [StoreCall] = []
    var isStopping = false
    var random: SeededRandom
    /// Requests of each kind within the second that began then.
    private var counted: [String: (second: Int64, count: Int)] = [:]
    /// Not signed yet, the next one first.
    private var planned: ArraySlice<StoreNotification>
    /// Places in the history, by when their next attempt is due; ms since 1970.
    private var due: ArraySlice<(time: Int64, place: Int)> = []

    private static let callLimit = 10_000

    init(_ settings: StoreSettings, _ notifications: [StoreNotification]) {
        self.settings = settings
        ledger = StoreLedger(app: settings.app)
        faults = FaultQueue(settings.faults, seed: settings.seed)
        lost = settings.lost
        random = SeededRandom(seed: settings.seed, stream: 0x7374_6F72)
        planned = notifications[...]
    }

    // MARK: - Time

    /// Lets happen what is due by now.
    mutating func advance(to now: Int64) {
        while let next = planned.first, next.signedDate <= now {
            planned.removeFirst()
            ledger.take(next)
            _ = admit(next, at: next.signedDate)
        }
        for (index, request) in massExtensions.enumerated() where request.completed == nil && request.due <= now {
            massExtensions[index] = finish(request, at: now)
        }
    }

    /// When something happens by itself next; ms since 1970.
    var nextMoment: Int64? {
        [planned.first?.signedDate, due.first?.time, massExtensions.first { $0.completed == nil }?.due]
            .compactMap(\.self).min()
    }

    // MARK: - Sending

    /// Takes a notification into the history, and sends it.
    mutating func admit(_ notification: StoreNotification, isTest: Bool = false, at time: Int64) -> Int {
        let isLost = lost > 0 && !isTest && random.chance(lost)
        let customer = notification.transaction?["appTransactionId"]?.stringValue
        var entry = HistoryEntry(
            letter: PlannedNotification(notification), customer: customer, isTest: isTest, isLost: isLost)
        let place = history.count
        if settings.receiver == nil {
            entry.attempts.append(.init(date: time &+ 200, result: "NO_RESPONSE"))
        } else {
            schedule(place, at: time)
        }
        history.append(entry)
        return place
    }

    mutating func admitTest(_ token: String, _ notification: StoreNotification, at now: Int64) {
        tests[token] = admit(notification, isTest: true, at: now)
    }

    private mutating func schedule(_ place: Int, at time: Int64) {
        var (low, high) = (due.startIndex, due.endIndex)
        // Nearly always the last one.
        if due.last.map({ $0.time <= time }) ?? true { low = high }
        while low < high {
            let middle = low + (high - low) / 2
            if due[middle].time <= time { low = middle + 1 } else { high = middle }
        }
        due.insert((time, place), at: low)
    }

    /// The place of what is to be sent now; it is not given out again before its attempt is recorded.
    mutating func takeDue(at now: Int64) -> Int? {
        guard let first = due.first, first.time <= now else { return nil }
        due.removeFirst()
        return first.place
    }

    /// What came of an attempt, which began at `date`; the next one is counted from its end, `now`.
    mutating func record(_ result: String, of place: Int, began date: Int64, now: Int64) {
        history[place].attempts.append(.init(date: date, result: result))
        guard result != "SUCCESS", let wait = settings.wait(afterAttempt: history[place].attempts.count) else { return }
        schedule(place, at: now &+ wait.milliseconds)
    }

    // MARK: - Requests

    mutating func note(_ call: StoreCall) {
        if calls.count >= StoreState.callLimit { calls.removeFirst(StoreState.callLimit / 2) }
        calls.append(call)
    }

    mutating func forgetCalls() {
        calls = []
    }

    /// Whether one more request of this kind is within the rate. When to come again if not, in ms since 1970.
    mutating func limit(_ kind: String, at now: Int64) -> Int64? {
        guard let most = settings.requestsPerSecond else { return nil }
        let second = now / 1000
        let count = counted[kind].map { $0.second == second ? $0.count : 0 } ?? 0
        guard count < most else { return (second + 1) * 1000 }
        counted[kind] = (second, count + 1)
        return nil
    }
}

/// A request that came, and what was answered.
struct StoreCall {
    let time: Int64
    let method: String
    let target: String
    let body: JSON?
    /// 0: the connection was reset.
    let status: Int
    /// What was wrong with the token.
    let tokenFault: String?

    var json: JSON {
        .object([
            "time_ms": .int(time), "method": .string(method), "target": .string(target), "body": body ?? .null,
            "status": .int(Int64(status)), "token_fault": .text(tokenFault),
        ])
    }
}
