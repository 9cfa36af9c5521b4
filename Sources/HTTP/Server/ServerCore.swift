import Base
import Daemon
import Synchronization

/// What the connections of one server share.
final class ServerCore: Sendable {
    private let serving: Mutex<Serving>
    let lingering: LingeringSockets
    /// What new connections show; nil: no TLS.
    let identity: Mutex<TLSIdentity?>
    /// Every answer closes its connection from now on.
    let isLeaving = Atomic(false)
    /// Connections that wait for a request are closed soon.
    let isDraining = Atomic(false)
    /// When connections were last looked through, in seconds of the monotonic clock.
    let swept = Mutex(MonotonicTime.now())
    /// No request reaches the handler from now on.
    let isStopping = Atomic(false)
    let requests = Atomic(0)
    /// Bytes of bodies that have come and are not handed over yet.
    let bodyBytes = Atomic(0)
    let refusals = Atomic(0)
    let cuts = Atomic(0)
    let turnedAway = Atomic(0)
    /// Requests that were answered 503 because the handler was late.
    let unanswered = Atomic(0)

    /// Connections between accept and close.
    let connections = Monitor(OpenConnections())

    init(_ configuration: HTTPServerConfiguration, _ handler: any HTTPHandler, _ lingering: LingeringSockets) {
        serving = Mutex(Serving(configuration, handler))
        self.lingering = lingering
        identity = Mutex(configuration.identity)
    }

    // MARK: - What it serves with

    var current: Serving { serving.withLock { $0 } }

    var configuration: HTTPServerConfiguration { current.configuration }

    /// What a request is handled with; `leave` follows once the handler has returned.
    func enter() -> Serving {
        serving.withLock { serving in
            serving.calls.wrappingAdd(1, ordering: .relaxed)
            return serving
        }
    }

    func leave(_ serving: Serving) { serving.calls.wrappingSubtract(1, ordering: .releasing) }

    /// Requests are handled with this from now on.
    ///
    /// - Returns: what they were handled with before.
    func replace(with new: Serving) -> Serving {
        serving.withLock { serving in
            defer { serving = new }
            return serving
        }
    }

    // MARK: - Connections

    /// Connections beyond the cap while those that make room for them are closing.
    static let closingAtMost = 64

    /// The address under which a connection is counted; nil: it is one of a proxy's, or of this host.
    func counted(_ peer: PeerAddress?) -> PeerAddress? {
        peer.flatMap { $0.isLocal && configuration.exemptsLocalAddresses ? nil : $0 }
    }

    /// Whether one more connection is taken from this address. Where the server is full, the one that has been silent longest makes
    /// room.
    func admits(_ peer: PeerAddress?) -> Bool {
        let peer = counted(peer)
        let (count, own) = connections.read { open in (open.count, peer.map(open.count(of:)) ?? 0) }
        let limit = configuration.maxConnections
        let isTaken =
            own < configuration.maxConnectionsPerAddress
            && (count < limit || count < limit + ServerCore.closingAtMost && makeRoom())
        if !isTaken { turnedAway.wrappingAdd(1, ordering: .relaxed) }
        return isTaken
    }

    /// Closes the connection whose request head has been awaited longest, else the one that has been idle longest; false where
    /// none has been silent for as long as a client may take.
    private func makeRoom() -> Bool {
        let now = MonotonicTime.now()
        let silent = open.compactMap { connection in
            connection.silence(at: now).flatMap { $0.time >= configuration.undisturbed ? (connection, $0) : nil }
        }
        guard let slowest = silent.max(by: { $0.1 < $1.1 })?.0, slowest.evict() else { return false }
        turnedAway.wrappingAdd(1, ordering: .relaxed)
        return true
    }

    func opened(_ connection: HTTPConnection) { connections.change { $0.add(connection) } }

    func closed(_ connection: HTTPConnection) { connections.change { $0.remove(connection) } }

    var open: [HTTPConnection] { connections.read { Array($0.all.values) } }

    /// Answers or closes what is past its deadline.
    func sweep() {
        let now = MonotonicTime.now()
        swept.withLock { $0 = now }
        for connection in open {
            if connection.answerLate(at: now) {
                unanswered.wrappingAdd(1, ordering: .relaxed)
            } else if connection.cut(at: now) {
                cuts.wrappingAdd(1, ordering: .relaxed)
            }
        }
    }
}
