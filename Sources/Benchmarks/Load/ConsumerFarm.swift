import Base
import Daemon
import Glibc
import Synchronization

/// Many consumers of webhooks behind one port, told apart by their paths: each answers 200 after a delay of its own. One
/// thread for all connections.
final class ConsumerFarm: Sendable {
    /// A webhook about a purchase at one of the consumers.
    struct Arrival: Hashable {
        let consumer: String
        let purchase: String
    }

    private struct State {
        var received = 0
        var open = 0
        var mostOpen = 0
        var first: [Arrival: ContinuousClock.Instant] = [:]
    }

    /// Answers that are not due yet, by connection.
    private struct Owed {
        let socket: Int32
        let due: ContinuousClock.Instant
    }

    private let port: UInt16
    private let listening: Int32
    private let delay: @Sendable (String) -> Duration
    private let keepsArrivals: Bool
    private let state = Mutex(State())
    private let isEnding = Atomic<Bool>(false)

    private let answer: [UInt8]

    static let success = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    private static let member = Array(#""original_transaction_id":""#.utf8)

    /// - Parameters:
    ///   - keepsArrivals: whether `arrivals` is wanted; reading each body costs time.
    ///   - answer: what all requests are answered with.
    ///   - delay: of the consumer with this name.
    init(
        keepsArrivals: Bool, answer: [UInt8] = success, delay: @escaping @Sendable (String) -> Duration
    ) throws {
        (listening, port) = try LocalSocket.listen()
        self.answer = answer
        self.delay = delay
        self.keepsArrivals = keepsArrivals
        _ = ServiceThread("consumers") { [self] in serve() }
    }

    func url(of consumer: String) -> String { "http://127.0.0.1:\(port)/\(consumer)" }

    /// Of all consumers.
    var origin: String { "http://127.0.0.1:\(port)" }

    /// Webhooks so far.
    var count: Int { state.withLock { $0.received } }

    /// The most that were waited for at once since the last call.
    func takeMostOpen() -> Int {
        state.withLock { state in
            defer { state.mostOpen = state.open }
            return state.mostOpen
        }
    }

    /// When the first webhook about a purchase came to a consumer, of all since the last call.
    func takeArrivals() -> [Arrival: ContinuousClock.Instant] {
        state.withLock { state in
            defer { state.first = [:] }
            return state.first
        }
    }

    func end() {
        isEnding.store(true, ordering: .relaxed)
        shutdown(listening, Int32(SHUT_RDWR))
    }

    // MARK: - The thread

    private func serve() {
        var buffers: [Int32: MessageBuffer] = [:]
        var owed: [Owed] = []
        while !isEnding.load(ordering: .relaxed) {
            var polled = [pollfd(fd: listening, events: Int16(POLLIN), revents: 0)]
            polled += buffers.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            let next = owed.map(\.due).min().map { max(.zero, $0 - .now) + .microseconds(999) }
            _ = poll(&polled, nfds_t(polled.count), next.map { Int32(clamping: $0.milliseconds) } ?? -1)
            if polled[0].revents != 0 {
                while let accepted = LocalSocket.accept(listening) { buffers[accepted] = MessageBuffer() }
            }
            for entry in polled.dropFirst() where entry.revents != 0 {
                guard take(entry.fd, &buffers[entry.fd, default: MessageBuffer()], &owed) else {
                    buffers[entry.fd] = nil
                    let gone = owed.count(where: { $0.socket == entry.fd })
                    owed.removeAll { $0.socket == entry.fd }
                    state.withLock { $0.open -= gone }
                    close(entry.fd)
                    continue
                }
            }
            pay(&owed)
        }
        for socket in buffers.keys { close(socket) }
        close(listening)
    }

    /// Takes what is complete; false at the end of the connection.
    private func take(_ socket: Int32, _ buffer: inout MessageBuffer, _ owed: inout [Owed]) -> Bool {
        let reading = buffer.fill(from: socket)
        while let request = buffer.next() {
            let now = ContinuousClock.now
            let consumer = ConsumerFarm.name(in: request.head)
            note(request.body, consumer, now)
            owed.append(Owed(socket: socket, due: now + delay(consumer)))
        }
        return reading == .more
    }

    private func pay(_ owed: inout [Owed]) {
        let now = ContinuousClock.now
        var paid = 0
        for one in owed where one.due <= now {
            _ = send(one.socket, answer, answer.count, Int32(MSG_NOSIGNAL))
            paid += 1
        }
        guard paid > 0 else { return }
        owed.removeAll { $0.due <= now }
        state.withLock { $0.open -= paid }
    }

    /// Of `POST /NAME HTTP/1.1`.
    private static func name(in head: ArraySlice<UInt8>) -> String {
        let target = head.drop { $0 != UInt8(ascii: "/") }.dropFirst().prefix { $0 != UInt8(ascii: " ") }
        return String(decoding: target, as: UTF8.self)
    }

    private func note(_ body: ArraySlice<UInt8>, _ consumer: String, _ now: ContinuousClock.Instant) {
        let arrival = keepsArrivals ? purchase(in: body).map { Arrival(consumer: consumer, purchase: $0) } : nil
        state.withLock { state in
            state.received += 1
            state.open += 1
            state.mostOpen = max(state.mostOpen, state.open)
            if let arrival, state.first[arrival] == nil { state.first[arrival] = now }
        }
    }

    private func purchase(in body: ArraySlice<UInt8>) -> String? {
        MessageBuffer.find(ConsumerFarm.member, in: body).map { place in
            let id = body[(place + ConsumerFarm.member.count)...].prefix { $0 != UInt8(ascii: "\"") }
            return String(decoding: id, as: UTF8.self)
        }
    }
}

/// A host that takes connections and says nothing, ever.
final class SilentHost {
    private let listening: Int32
    private let port: UInt16

    init() throws {
        (listening, port) = try LocalSocket.listen()
    }

    deinit {
        close(listening)
    }

    var url: String { "http://127.0.0.1:\(port)/hook" }
}
