import AppStore
import Base
import Crypto
import Daemon
import HTTP

/// Apple's App Store Server API for one app (https://developer.apple.com/documentation/appstoreserverapi).
///
/// Calls block their thread until there is an answer, the deadline is over or the call is cancelled; any number of
/// threads may call at once. Each stays below Apple's rates, is sent again where that is safe, and believes nothing that
/// is signed before it was verified.
package final class ServerAPIClient: Sendable {
    package let app: ServerAPIApp
    let verifier: SignedDataVerifier
    private let keys: KeyRing
    private let http: HTTPClient
    private let retries: ServerAPIRetryPolicy
    private let clock: any WallClock
    private let pacer: RateLimiter
    private let logger: Logger
    private let metrics: Metrics

    /// Of one request, inside the deadline of its call.
    private static let requestTimeout = Duration.seconds(30)
    /// Clocks that are so near tell the same time, in ms: `date` has whole seconds.
    private static let skewTolerance: Int64 = 2000

    /// - Parameters:
    ///   - keys: the newest first; the others are tried where it is refused.
    ///   - http: started; see `configuration(for:)`.
    ///   - share: of Apple's rates.
    package init(
        app: ServerAPIApp, keys: [ServerAPIKey], http: HTTPClient, verifier: SignedDataVerifier,
        retries: ServerAPIRetryPolicy = ServerAPIRetryPolicy(), share: RateShare = .process,
        clock: any WallClock = SystemClock(), logger: Logger, metrics: Metrics
    ) {
        pacer = RateLimiter(share)
        self.app = app
        self.keys = KeyRing(keys, bundleID: app.bundleID)
        self.http = http
        self.verifier = verifier
        self.retries = retries
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
        for group in EndpointGroup.allCases {
            metrics.begin(.serverAPIRequests, ["group": group.rawValue, "outcome": "unauthorized"])
        }
    }

    package func share(in environment: StoreEnvironment) -> RateShare { pacer.share(in: environment) }

    /// From now on another share of what Apple allows in an environment.
    package func use(_ share: RateShare, in environment: StoreEnvironment) { pacer.use(share, in: environment) }

    /// How the transport must be made: it reaches this host by plain HTTP only where a server in place of Apple's is set.
    package static func configuration(for app: ServerAPIApp) -> HTTPClientConfiguration {
        let loopback = ["127.0.0.0/8", "::1/128"].compactMap { Network(parsing: $0) }
        return HTTPClientConfiguration(
            allowedNetworks: app.baseURLs.isEmpty ? [] : loopback, maxConnections: 16, responseLimit: 1 << 20)
    }

    /// The body of the answer to a call.
    func send(
        _ call: ServerAPICall, in environment: StoreEnvironment, _ options: CallOptions
    ) throws(ServerAPIError) -> [UInt8] {
        guard app.environments.contains(environment) else {
            throw .invalid("the app \(app.id) does not accept data of the environment \(environment.rawValue)")
        }
        var key = keys.preferred(at: clock.now())
        var (number, refused) = (1, 0)
        while true {
            try pacer.wait(call.group, environment, options)
            let outcome = try transfer(call, environment, key, options)
            count(call.group, outcome)
            if case .response(let response) = outcome, response.status == 401 {
                refused += 1
                guard let other = keys.next(after: key, refused: refused) else {
                    throw .unauthorized(unauthorized(response, environment))
                }
                key = other
                continue
            }
            let reading = AnswerReading(outcome, call, now: clock.now())
            if reading.isAuthorized { noteSuccess(key, environment) }
            guard let error = reading.error else { return reading.body }
            try pause(after: reading.result, attempt: number, call, environment, options, error)
            number += 1
        }
    }

    /// Waits until the call may be sent again; throws its error where it may not.
    private func pause(
        after result: ServerAPIRetryPolicy.Result, attempt number: Int, _ call: ServerAPICall,
        _ environment: StoreEnvironment,
        _ options: CallOptions, _ error: ServerAPIError
    ) throws(ServerAPIError) {
        if case .turnedAway(let after?) = result { pacer.close(call.group, environment, for: after) }
        let wait = retries.wait(after: result, attempt: number, call.repetition, jitter: .random(in: 0...1))
        guard let wait, ContinuousClock.now + wait < options.deadline else { throw error }
        logger.debug(
            "Server API request retried",
            [
                "app": .string(app.id), "group": .string(call.group.rawValue), "error": .string("\(error)"),
                "wait_ms": .int(wait.milliseconds),
            ])
        try pause(wait, options)
    }

    private func transfer(
        _ call: ServerAPICall, _ environment: StoreEnvironment, _ key: Int, _ options: CallOptions
    ) throws(ServerAPIError) -> TransferOutcome {
        let token: String
        do throws(IssuingError) {
            token = try keys.token(key, at: clock.now())
        } catch {
            throw .invalid("the key \(keys.keyID(key)) cannot sign: \(error)")
        }
        let timeout = min(ServerAPIClient.requestTimeout, options.deadline - ContinuousClock.now)
        guard timeout > .zero else { throw .outOfTime("nothing was sent before the deadline") }
        return try outcome(of: call.request(app.baseURL(environment), token: token, timeout: timeout), options)
    }

    /// Sends a request, and waits for its end or the caller's.
    private func outcome(
        of request: OutgoingRequest, _ options: CallOptions
    ) throws(ServerAPIError) -> TransferOutcome {
        let result = Monitor<TransferOutcome?>(nil)
        let watch = options.cancellation.onCancel { result.change { _ in } }
        defer { options.cancellation.forget(watch) }
        http.submit(request) { outcome in result.change { $0 = outcome } }
        let outcome = result.wait { outcome -> TransferOutcome?? in
            // What is on its way goes on until its timeout; no caller waits for it.
            outcome.map { .some($0) } ?? (options.cancellation.isCancelled ? .some(nil) : nil)
        }
        guard let outcome = outcome ?? nil else { throw .cancelled }
        if case .failure(let failure) = outcome, failure.kind == .interrupted { throw .cancelled }
        return outcome
    }

    private func pause(_ wait: Duration, _ options: CallOptions) throws(ServerAPIError) {
        let alarm = Monitor(false)
        let watch = options.cancellation.onCancel { alarm.change { $0 = true } }
        defer { options.cancellation.forget(watch) }
        _ = alarm.wait(timeout: wait) { $0 || options.cancellation.isCancelled ? true : nil }
        if options.cancellation.isCancelled { throw .cancelled }
    }

    private func unauthorized(_ response: OutgoingResponse, _ environment: StoreEnvironment) -> Unauthorized {
        let now = clock.now()
        let apples = response.date.flatMap { HTTPDate.parse($0, now: now) }
        let skew = apples.map { now - $0 }.map { abs($0) < ServerAPIClient.skewTolerance ? 0 : $0 / 1000 }
        return Unauthorized(
            environment: environment, bundleID: app.bundleID, keyIDs: (0..<keys.count).map(keys.keyID), skew: skew)
    }

    private func noteSuccess(_ key: Int, _ environment: StoreEnvironment) {
        guard keys.worked(key, at: clock.now()) else { return }
        logger.warning(
            "newest Server API key rejected",
            [
                "app": .string(app.id), "environment": .string(environment.rawValue),
                "refused": .string(keys.keyID(0)), "serves": .string(keys.keyID(key)),
            ])
    }

    private func count(_ group: EndpointGroup, _ outcome: TransferOutcome) {
        let name =
            switch outcome {
            case .response(let response):
                switch response.status {
                case 200..<300: "done"
                case 401: "unauthorized"
                case 429: "rate_limited"
                case 500...: "server_error"
                default: "refused"
                }
            case .failure: "no_answer"
            }
        metrics.count(.serverAPIRequests, ["group": group.rawValue, "outcome": name])
    }
}
