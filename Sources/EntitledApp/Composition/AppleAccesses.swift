import AppStore
import Base
import Daemon
import Synchronization

/// The clients of Apple's Server API in one process: one for each app with a key, shared by all services that call
/// Apple, so that they keep to Apple's rates together. The first user opens them, the last one closes them.
final class AppleAccesses: Sendable {
    private struct State {
        var opened: [String: ServerAPIAccess]?
        var users = 0
    }

    private let state = Mutex(State())
    private let open: @Sendable () -> [String: ServerAPIAccess]

    /// An app whose key cannot be read or used is logged and left out: everything else goes on.
    ///
    /// - Parameter verifier: what decides about what Apple signs in its answers.
    init(_ configuration: Configuration, verifier: SignedDataVerifier, logger: Logger, metrics: Metrics) {
        open = {
            var accesses: [String: ServerAPIAccess] = [:]
            for app in configuration.apps where app.serverAPI != nil {
                do {
                    accesses[app.id] = try ServerAPIAccess(
                        app, verifier: verifier, readFile: FileReading.read, logger: logger, metrics: metrics)
                } catch {
                    logger.error(
                        "Server API key not loaded", ["app": .string(app.id), "error": .string("\(error)")])
                }
            }
            return accesses
        }
    }

    /// The accesses by app, and the service that ends their use: it drains after all that ask by them. The last one to
    /// drain closes the transports; calls that still wait are cancelled then.
    func use() -> (accesses: [String: ServerAPIAccess], end: any Service) {
        state.withLock { state in
            let opened = state.opened ?? open()
            state.opened = opened
            state.users += 1
            return (opened, Use(all: self))
        }
    }

    fileprivate func endUse() {
        let closing = state.withLock { state -> [ServerAPIAccess] in
            state.users -= 1
            guard state.users == 0, let opened = state.opened else { return [] }
            state.opened = nil
            return Array(opened.values)
        }
        for access in closing { access.close() }
    }
}

/// One user of the accesses: they are open from the beginning.
private struct Use: Service {
    let name = "apple-transports"
    let all: AppleAccesses

    func start() {}
    func drain(until deadline: ContinuousClock.Instant) { all.endUse() }
}
