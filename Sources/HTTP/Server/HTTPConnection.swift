import CMicrohttpd
import Glibc
import Synchronization

/// One connection, from accept to close; its requests one after the other.
///
/// `@unchecked Sendable`: `exchange` is touched only by the libmicrohttpd thread that owns the connection for life;
/// everything else is behind `state`. A suspended connection stays valid until it is resumed, which happens once and
/// with the lock held, so no other thread uses it after its end.
final class HTTPConnection: @unchecked Sendable {
    enum Phase {
        case idle, head, body, handling, answering
    }

    private struct State {
        /// -1 once libmicrohttpd is about to close it, after which the number may mean another socket.
        var socket: Int32
        var phase = Phase.idle
        var deadline: MonotonicTime
        /// Counts requests, so that a late answer does not reach the next one.
        var serial: UInt64 = 0
        var answer: HTTPResponse?
        /// Address of the MHD_Connection while it waits for an answer.
        var suspended: UInt = 0
        var isCut = false
        /// Whether no request of it was answered yet.
        var isFresh = true
        /// Whether the client may still be sending when libmicrohttpd closes.
        var mayLinger = true
    }

    /// The request being received.
    struct Exchange {
        enum Stage {
            case head, body, answering
        }

        var stage = Stage.head
        var target: RequestGuard.Target?
        var head: HTTPRequestHead?
        var body: [UInt8] = []
        var share: BodyShare?
        var expected = 0
        var refusal: HTTPResponse?
        /// What admitted the request.
        var serving: Serving?
        var isChunked = false
    }

    let core: ServerCore
    let remoteAddress: String
    /// As which it is counted; nil: as none.
    let peer: PeerAddress?
    var exchange = Exchange()
    /// Kept as long as the connection: the TLS session points into it.
    private let identity: TLSIdentity?
    private let state: Mutex<State>

    init(_ core: ServerCore, socket: Int32, remoteAddress: String, peer: PeerAddress?, identity: TLSIdentity?) {
        self.core = core
        self.remoteAddress = remoteAddress
        self.peer = peer
        self.identity = identity
        state = Mutex(State(socket: socket, deadline: .after(core.configuration.headerTimeout)))
    }

    // MARK: - Phases, on the libmicrohttpd thread

    func enter(_ phase: Phase, within time: Duration) {
        let deadline = MonotonicTime.after(time)
        state.withLock { state in
            state.phase = phase
            state.deadline = deadline
            state.mayLinger = true
        }
    }

    /// The number under which the request may be answered; nil if the server stops and no handler is to be asked.
    func beginHandling() -> UInt64? {
        let deadline = core.configuration.answerTimeout.map { MonotonicTime.after($0) } ?? .never
        return state.withLock { state in
            guard !core.isStopping.load(ordering: .sequentiallyConsistent) else { return nil }
            state.phase = .handling
            state.deadline = deadline
            return state.serial
        }
    }

    /// The answer if it is there; else the connection is suspended until it comes.
    func takeAnswer(orSuspend connection: OpaquePointer) -> HTTPResponse? {
        state.withLock { state in
            state.suspended = 0
            if let answer = state.answer {
                state.answer = nil
                return answer
            }
            if state.phase == .handling {
                state.suspended = UInt(bitPattern: connection)
                MHD_suspend_connection(connection)
            }
            return nil
        }
    }

    /// An answer is being sent before the request was read, so bytes may still come when the connection closes.
    func sendsEarly() {
        let deadline = MonotonicTime.after(core.configuration.bodyTimeout)
        state.withLock { state in
            state.phase = .answering
            state.deadline = deadline
        }
    }

    func completed(inOrder: Bool) {
        let wasEarly = exchange.stage != .answering
        exchange = Exchange()
        let deadline = MonotonicTime.after(
            core.isDraining.load(ordering: .relaxed) ? core.configuration.drainGrace : core.configuration.idleTimeout)
        state.withLock { state in
            state.serial &+= 1
            state.answer = nil
            state.suspended = 0
            state.phase = .idle
            state.isFresh = false
            state.deadline = deadline
            state.mayLinger = wasEarly || !inOrder
        }
    }

    /// Puts bytes on the wire past libmicrohttpd, which can answer no request in the middle of its body. Never plain ones
    /// into a TLS stream: there they are a record of its session, which only the thread that owns the connection uses.
    func sendDirectly(_ message: [UInt8], on connection: OpaquePointer) {
        state.withLock { state in
            guard state.socket >= 0 else { return }
            guard identity == nil else {
                guard let session = entitled_mhd_session(connection) else { return }
                _ = gnutls_record_send(session, message, message.count)
                return
            }
            _ = send(state.socket, message, message.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
    }

    /// Has the system send a reset instead of an end when libmicrohttpd closes the socket.
    func reset() {
        state.withLock { state in
            guard state.socket >= 0 else { return }
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(state.socket, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            state.isCut = true
        }
    }

    /// libmicrohttpd closes the socket right after this.
    func close() {
        let lingers = state.withLock { state in
            defer { state.socket = -1 }
            state.serial &+= 1
            state.phase = .idle
            guard state.socket >= 0, state.mayLinger, !state.isCut else { return Int32(-1) }
            return HTTPConnection.lingering(state.socket)
        }
        if lingers >= 0 {
            core.lingering.add(lingers)
        }
        core.closed(self)
    }

    /// A second descriptor of a socket whose other end may still be sending, or -1.
    private static func lingering(_ socket: Int32) -> Int32 {
        var byte: UInt8 = 0
        let received = recv(socket, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
        guard received > 0 || (received < 0 && errno == EAGAIN) else { return -1 }
        return fcntl(socket, F_DUPFD_CLOEXEC, 0)
    }

    // MARK: - From any thread

    /// Takes the answer to request `serial`; false, and ignored, if that is over or was answered.
    @discardableResult
    func answer(_ response: HTTPResponse, to serial: UInt64) -> Bool {
        let deadline = MonotonicTime.after(core.configuration.bodyTimeout)
        return state.withLock { state in
            guard state.serial == serial, state.phase == .handling else { return false }
            state.answer = response
            state.phase = .answering
            state.deadline = deadline
            if let suspended = OpaquePointer(bitPattern: state.suspended) {
                state.suspended = 0
                MHD_resume_connection(suspended)
            }
            return true
        }
    }

    /// Answers what the handler still owes past its deadline; whether that was so.
    func answerLate(at now: MonotonicTime) -> Bool {
        let serial = state.withLock { $0.phase == .handling && $0.deadline <= now ? $0.serial : nil }
        guard let serial else { return false }
        return answer(
            .unavailable("The request was not answered in time. Whether it was carried out is unknown."), to: serial)
    }

    /// Answers what the handler still owes.
    func abandon(with response: HTTPResponse) {
        let serial = state.withLock { $0.serial }
        answer(response, to: serial)
    }

    /// Gives a connection between two requests only this much longer.
    func hurry(until deadline: MonotonicTime) {
        state.withLock { state in
            if state.phase == .idle {
                state.deadline = min(state.deadline, deadline)
            }
        }
    }

    /// How long the server has waited for a request head on this connection.
    struct Silence: Comparable {
        /// Whether a head was to come: the first one, or one that has begun. An idle connection waits for none.
        let isOwed: Bool
        let time: Duration

        static func < (a: Silence, b: Silence) -> Bool {
            a.isOwed == b.isOwed ? a.time < b.time : !a.isOwed
        }
    }

    /// Nil while a request is received, handled or answered.
    func silence(at now: MonotonicTime) -> Silence? {
        state.withLock { state in
            guard state.socket >= 0, !state.isCut, state.phase == .idle || state.phase == .head else { return nil }
            let isOwed = state.phase == .head || state.isFresh
            let patience = isOwed ? core.configuration.headerTimeout : core.configuration.idleTimeout
            return Silence(isOwed: isOwed, time: patience - (state.deadline - now))
        }
    }

    /// Shuts the socket down to make room for another one, if no request has come meanwhile.
    func evict() -> Bool {
        state.withLock { state in
            guard state.socket >= 0, !state.isCut, state.phase == .idle || state.phase == .head else { return false }
            state.isCut = true
            shutdown(state.socket, Int32(SHUT_RDWR))
            return true
        }
    }

    /// Shuts the socket down if its deadline has passed; libmicrohttpd then finds it closed.
    func cut(at now: MonotonicTime) -> Bool {
        state.withLock { state in
            guard state.deadline <= now, state.phase != .handling, state.socket >= 0, !state.isCut else { return false }
            state.isCut = true
            shutdown(state.socket, Int32(SHUT_RDWR))
            return true
        }
    }
}
