import Daemon
import Glibc
import Synchronization

/// A consumer of webhooks that answers 200 at once and counts: one thread for all connections.
final class WebhookConsumer: Sendable {
    let port: UInt16
    private let listening: Int32
    private let received = Atomic<Int>(0)
    private let isEnding = Atomic<Bool>(false)
    private let firstArrivals = Mutex<[String: ContinuousClock.Instant]>([:])

    private static let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".utf8)
    private static let member = Array(#""original_transaction_id":""#.utf8)

    init() throws {
        let (listening, port) = try LocalSocket.listen()
        (self.listening, self.port) = (listening, port)
        _ = ServiceThread("consumer") { [self] in serve() }
    }

    var url: String { "http://127.0.0.1:\(port)/hook" }

    /// Webhooks so far.
    var count: Int { received.load(ordering: .relaxed) }

    /// When the first webhook about each purchase came, by its original transaction id.
    var arrivals: [String: ContinuousClock.Instant] { firstArrivals.withLock { $0 } }

    func end() {
        isEnding.store(true, ordering: .relaxed)
        shutdown(listening, Int32(SHUT_RDWR))
    }

    private func serve() {
        var buffers: [Int32: MessageBuffer] = [:]
        while !isEnding.load(ordering: .relaxed) {
            var polled = [pollfd(fd: listening, events: Int16(POLLIN), revents: 0)]
            polled += buffers.keys.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), -1) > 0 else { continue }
            if polled[0].revents != 0, let accepted = LocalSocket.accept(listening) {
                buffers[accepted] = MessageBuffer()
            }
            for entry in polled.dropFirst() where entry.revents != 0 {
                guard serve(entry.fd, &buffers[entry.fd, default: MessageBuffer()]) else {
                    buffers[entry.fd] = nil
                    close(entry.fd)
                    continue
                }
            }
        }
        for socket in buffers.keys { close(socket) }
        close(listening)
    }

    /// Answers what is complete; false at the end of the connection.
    private func serve(_ socket: Int32, _ buffer: inout MessageBuffer) -> Bool {
        let reading = buffer.fill(from: socket)
        while let request = buffer.next() {
            note(request.body)
            let answer = WebhookConsumer.answer
            guard send(socket, answer, answer.count, Int32(MSG_NOSIGNAL)) == answer.count else { return false }
        }
        return reading == .more
    }

    private func note(_ body: ArraySlice<UInt8>) {
        let now = ContinuousClock.now
        received.add(1, ordering: .relaxed)
        guard let place = MessageBuffer.find(WebhookConsumer.member, in: body) else { return }
        let id = body[(place + WebhookConsumer.member.count)...].prefix { $0 != UInt8(ascii: "\"") }
        let purchase = String(decoding: id, as: UTF8.self)
        firstArrivals.withLock { arrivals in
            if arrivals[purchase] == nil { arrivals[purchase] = now }
        }
    }
}
