import Base
import Glibc
import StoreSimulator

/// Sends requests on many connections by one thread, one request at a time on each.
struct LoadGenerator: Sendable {
    let requests: any LoadRequests
    let address: String
    let connections: Int
    /// How long no answer at all may come before that is a failure.
    var patience = Duration.seconds(30)
    /// Told of each answer: the request's number, the status, and when it came.
    var answered: (@Sendable (Int, Int, ContinuousClock.Instant) -> Void)?
    /// Asked ten times a second at least; true ends the run at once, without the answers that are not there yet.
    var isStopped: (@Sendable () -> Bool)?
    /// Requests in a second, evenly; 0: as fast as the answers come. Latencies of a paced load are counted from when a
    /// request was due, so that a receiver that stalls is not spared.
    var rate = 0.0

    struct Outcome {
        var accepted = 0
        /// Answers other than 200.
        var refused: [Int: Int] = [:]
        var elapsed = Duration.zero
        var latencies = LatencyHistogram()
        /// When the first notification about each purchase was answered.
        var firstAnswers: [String: ContinuousClock.Instant] = [:]
    }

    private struct Connection {
        let socket: Int32
        var buffer = MessageBuffer()
        /// What is under way, how much of it is sent, and since when it counts.
        var index: Int?
        var sent = 0
        var since = ContinuousClock.now
    }

    /// Sends these requests and waits for every answer.
    func run(_ range: Range<Int>) throws -> Outcome {
        var open = try (0..<connections).map { _ in
            Connection(socket: try LocalSocket.connect(to: address))
        }
        defer { for connection in open { close(connection.socket) } }
        var outcome = Outcome()
        let started = ContinuousClock.now
        var next = range.lowerBound
        var turn = 0
        var lastAnswer = started
        while outcome.accepted + outcome.refused.values.reduce(0, +) < range.count, isStopped?() != true {
            // In turn, so that none is idle for so long that it is closed.
            let places = (0..<open.count).map { (turn + $0) % open.count }
            for place in places where open[place].index == nil && next < range.upperBound {
                let due = dueTime(next - range.lowerBound, from: started)
                guard due <= .now else { break }
                open[place].index = next
                open[place].since = rate > 0 ? due : .now
                next += 1
                turn = place + 1
                try send(&open[place])
            }
            let nextDue =
                rate > 0 && next < range.upperBound && open.contains { $0.index == nil }
                ? dueTime(next - range.lowerBound, from: started) : nil
            if try wait(&open, until: nextDue, &outcome) || nextDue != nil { lastAnswer = .now }
            guard ContinuousClock.now - lastAnswer < patience else {
                throw BenchmarkFailure("no answer within \(patience)")
            }
        }
        outcome.elapsed = .now - started
        return outcome
    }

    private func dueTime(_ number: Int, from start: ContinuousClock.Instant) -> ContinuousClock.Instant {
        rate > 0 ? start + .seconds(Double(number) / rate) : start
    }

    private func send(_ connection: inout Connection) throws {
        guard let index = connection.index else { return }
        let request = requests.request(index)
        while connection.sent < request.count {
            let count = Glibc.send(
                connection.socket, request.baseAddress.map { $0 + connection.sent }, request.count - connection.sent,
                Int32(MSG_NOSIGNAL))
            if count < 0 {
                if errno == EAGAIN || errno == ENOTCONN { return }
                if errno == EINTR { continue }
                throw BenchmarkFailure("a connection broke: \(String(cString: strerror(errno)))")
            }
            connection.sent += count
        }
    }

    /// Until an answer comes, a socket takes more, or the next request is due; false where nothing came.
    private func wait(
        _ open: inout [Connection], until due: ContinuousClock.Instant?, _ outcome: inout Outcome
    ) throws -> Bool {
        var places: [Int] = []
        var polled: [pollfd] = []
        for (place, connection) in open.enumerated() {
            guard let index = connection.index else { continue }
            let isSent = connection.sent == requests.request(index).count
            places.append(place)
            polled.append(pollfd(fd: connection.socket, events: Int16(isSent ? POLLIN : POLLIN | POLLOUT), revents: 0))
        }
        let longest = isStopped == nil ? Duration.seconds(1) : .milliseconds(100)
        let left = min(longest, due.map { max(.zero, $0 - .now) } ?? longest)
        let ready = poll(&polled, nfds_t(polled.count), Int32(clamping: (left + .microseconds(999)).milliseconds))
        for (place, entry) in zip(places, polled) where entry.revents != 0 {
            if entry.revents & Int16(POLLOUT) != 0 { try send(&open[place]) }
            if entry.revents & ~Int16(POLLOUT) != 0 { try receive(&open[place], &outcome) }
        }
        return ready > 0
    }

    private func receive(_ connection: inout Connection, _ outcome: inout Outcome) throws {
        let reading = connection.buffer.fill(from: connection.socket)
        guard let answer = connection.buffer.next(), let index = connection.index else {
            guard reading == .more else { throw BenchmarkFailure("a connection was closed without an answer") }
            return
        }
        let now = ContinuousClock.now
        outcome.latencies.add(now - connection.since)
        if answer.status == 200 {
            outcome.accepted += 1
        } else {
            outcome.refused[answer.status, default: 0] += 1
        }
        answered?(index, answer.status, now)
        if let purchase = requests.purchase(index), outcome.firstAnswers[purchase] == nil {
            outcome.firstAnswers[purchase] = now
        }
        connection.index = nil
        connection.sent = 0
    }
}
