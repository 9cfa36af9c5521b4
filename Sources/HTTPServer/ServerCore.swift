import Base
import Lifecycle
import Synchronization
import Telemetry

/// What the connections of one server share.
final class ServerCore: Sendable {
    let configuration: HTTPServerConfiguration
    let handler: any HTTPHandler
    let lingering: LingeringSockets
    /// What new connections show; nil: no TLS.
    let identity: Mutex<TLSIdentity?>
    /// New requests are answered 503 from now on, and every answer closes its connection.
    let isDraining = Atomic(false)
    /// No request reaches the handler from now on.
    let isStopping = Atomic(false)
    let requests = Atomic(0)
    /// Bytes of bodies that have come and are not handed over yet.
    let bodyBytes = Atomic(0)
    let refusals = Atomic(0)
    let cuts = Atomic(0)
    let turnedAway = Atomic(0)

    /// Connections between accept and close.
    let connections = Monitor<[ObjectIdentifier: HTTPConnection]>([:])

    init(_ configuration: HTTPServerConfiguration, _ handler: any HTTPHandler, _ lingering: LingeringSockets) {
        self.configuration = configuration
        self.handler = handler
        self.lingering = lingering
        identity = Mutex(configuration.identity)
    }

    /// Whether one more connection is taken.
    func admits() -> Bool {
        guard connections.read({ $0.count }) < configuration.maxConnections else {
            turnedAway.wrappingAdd(1, ordering: .relaxed)
            return false
        }
        return true
    }

    func opened(_ connection: HTTPConnection) {
        connections.change { $0[ObjectIdentifier(connection)] = connection }
    }

    func closed(_ connection: HTTPConnection) {
        connections.change { $0[ObjectIdentifier(connection)] = nil }
    }

    var open: [HTTPConnection] { connections.read { Array($0.values) } }

    /// Closes what is past its deadline.
    func sweep() {
        let now = MonotonicTime.now()
        for connection in open where connection.cut(at: now) {
            cuts.wrappingAdd(1, ordering: .relaxed)
        }
    }
}
