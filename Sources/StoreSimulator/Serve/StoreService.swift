import Base
import Daemon
import HTTP
import Synchronization

/// The App Store's side of one app in one environment: the Server API, and the sender of notifications. Listens on this
/// host only.
package final class StoreService: Sendable {
    package let token: TokenCheck
    let state: Monitor<StoreState>
    private let signer: NotificationSigner
    private let clock: any WallClock
    private let settings: StoreSettings
    private let server = Mutex<HTTPServer?>(nil)

    /// - Parameter notifications: what happens to its customers, in the order of their dates: what is past has happened,
    ///   the rest happens when its time comes.
    package init(
        _ settings: StoreSettings, _ pki: StorePKI, token: TokenCheck, notifications: [StoreNotification],
        clock: any WallClock = SystemClock()
    ) {
        self.settings = settings
        self.token = token
        self.clock = clock
        signer = NotificationSigner(pki)
        state = Monitor(StoreState(settings, notifications))
    }

    /// - Parameter port: 0 picks a free one.
    package func start(port: UInt16 = 0) throws {
        state.change { $0.advance(to: clock.now()) }
        let made = HTTPServer(
            HTTPServerConfiguration(role: "storesim", listen: "127.0.0.1:\(port)"), handler: Handler(service: self),
            logger: .silent)
        try made.start()
        server.withLock { $0 = made }
        guard let receiver = settings.receiver else { return }
        let dispatch = NotificationDispatch(state, signer, to: receiver, timeout: settings.timeout, clock: clock)
        for number in 0..<max(1, settings.connections) {
            _ = ServiceThread("store-send-\(number)") { dispatch.run() }
        }
    }

    package func stop() {
        state.change { $0.isStopping = true }
        server.withLock { server in
            defer { server = nil }
            return server
        }?.drain(until: .now + .seconds(2))
    }

    package var baseURL: String { "http://127.0.0.1:\(server.withLock { $0?.boundPort } ?? 0)" }

    // MARK: - Requests

    /// Holds the service weakly, because the server is held by it.
    private struct Handler: HTTPHandler {
        weak let service: StoreService?

        func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
            guard let service else { return }
            let (response, wait) = service.answer(request)
            guard let wait else { return responder.respond(response) }
            // Not on the server's thread, which others need.
            _ = ServiceThread("store-slow") {
                _ = Monitor(()).wait(timeout: wait) { _ -> Bool? in nil }
                responder.respond(response)
            }
        }
    }

    /// The answer, and how long it is to be held back.
    func answer(_ request: HTTPRequest) -> (HTTPResponse, Duration?) {
        let now = clock.now()
        return state.change { state in
            state.advance(to: now)
            if request.head.path.hasPrefix("/control/") { return (control(request, &state, now), nil) }
            let fault = state.faults.take(request.head.path, at: now)
            let tokenFault = token.fault(request.head.header("authorization"), now: now)
            let response = fault?.response(at: now) ?? answer(request, tokenFault, &state, now)
            state.note(
                StoreCall(
                    time: now, method: request.head.method, target: request.head.target,
                    body: try? JSON(parsing: request.body), status: response.status, tokenFault: tokenFault))
            return (response, fault?.kind == .slow ? .milliseconds(Int64((fault?.seconds ?? 0) * 1000)) : nil)
        }
    }

    private func answer(
        _ request: HTTPRequest, _ tokenFault: String?, _ state: inout StoreState, _ now: Int64
    ) -> HTTPResponse {
        // Apple says nothing more.
        guard tokenFault == nil else { return HTTPResponse(status: 401) }
        guard let parsed = StoreRequest(request) else { return HTTPResponse(status: 404) }
        if let again = state.limit("\(parsed.method) \(parsed.parts.prefix(2))", at: now) {
            var response = StoreRejection(4_290_000).response
            response.headers.append(("Retry-After", "\(again)"))
            return response
        }
        do {
            return try StoreEndpoints(signer: signer, now: now).answer(parsed, &state) ?? HTTPResponse(status: 404)
        } catch let refusal as StoreRejection {
            return refusal.response
        } catch {
            return StoreRejection(5_000_001).response
        }
    }
}
