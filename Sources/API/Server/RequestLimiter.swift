import Base
import Daemon
import HTTP
import Synchronization

/// The limits of one process: counts what requests cost, and refuses what goes beyond.
///
/// It needs no I/O: the threads of the listener call it before a request costs anything else.
package final class RequestLimiter: Sendable {
    let settings: LimitSettings
    private let buckets: Mutex<[LimitKind: LimitBuckets]>
    private let complaints: LimitComplaints
    /// Whether the operator was told of clients without an address.
    private let isUnknownTold = Atomic(false)
    private let logger: Logger
    private let metrics: Metrics
    private let now: @Sendable () -> Int64

    /// - Parameter now: in ns, of a clock that never goes back.
    package init(
        _ settings: LimitSettings = LimitSettings(), logger: Logger, metrics: Metrics,
        now: @escaping @Sendable () -> Int64 = RequestLimiter.monotonic
    ) {
        self.settings = settings
        self.logger = logger
        self.metrics = metrics
        self.now = now
        complaints = LimitComplaints(logger)
        buckets = Mutex(
            LimitKind.allCases.reduce(into: [:]) { buckets, kind in
                let limit = settings.limit(kind)
                if !limit.isOff { buckets[kind] = LimitBuckets(limit) }
            })
    }

    private static let start = ContinuousClock.now

    package static func monotonic() -> Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - start).components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }

    /// Nil where every limit has room, and each has counted it, but for that of the Apple account; else nothing is
    /// counted, and the caller is told when to come again: in whole seconds, one at least.
    func admit(_ request: LimitedRequest) -> APIError? {
        noteUnknown(request)
        let (now, charges) = (now(), request.charges)
        let refused: (LimitedRequest.Charge, Int64)? = buckets.withLock { buckets in
            for charge in charges {
                if let wait = buckets[charge.kind]?.missing(charge.cost, of: charge.bucket, at: now) {
                    return (charge, wait)
                }
            }
            for charge in charges where !charge.isClaimed {
                buckets[charge.kind]?.take(charge.cost, of: charge.bucket, at: now)
            }
            return nil
        }
        guard let (charge, wait) = refused else { return nil }
        let seconds = Int((wait + 999_999_999) / 1_000_000_000)
        metrics.count(.apiLimited, ["limit": charge.kind.rawValue, "route": request.route.path])
        complaints.note(request, charge, retryAfter: seconds, at: now)
        return .limited(request.route, after: seconds)
    }

    /// Counts an admitted request for the Apple account that it names, now that this is verified. So only what Apple
    /// signed for an account uses up what it has.
    func countForAccount(_ request: LimitedRequest) {
        let now = now()
        buckets.withLock { buckets in
            for charge in request.charges where charge.isClaimed {
                buckets[charge.kind]?.take(charge.cost, of: charge.bucket, at: now)
            }
        }
    }

    /// Takes the answer into account: a customer made by reading costs more.
    func settle(_ request: LimitedRequest, _ response: HTTPResponse) {
        guard response.status == 201, request.route.method == "GET" else { return }
        let now = now()
        buckets.withLock { buckets in
            for charge in request.charges where charge.kind == .address || charge.kind == .publicKey {
                buckets[charge.kind]?.take(RequestCost.newCustomer, of: charge.bucket, at: now)
            }
        }
    }

    /// Tells the operator once that apps come without an address of their own. What has no key, such as the health
    /// checks of a balancer, is no reason to.
    private func noteUnknown(_ request: LimitedRequest) {
        guard case .unknown(let peer) = request.client, request.key != nil,
            !isUnknownTold.exchange(true, ordering: .relaxed)
        else { return }
        logger.warning(
            "client addresses not determined",
            [
                "peer": .string(peer),
                "hint": .string(
                    "they have no limit by address: let each proxy before this listener send X-Forwarded-For, and name"
                        + " the network of the proxies in api.trusted_proxies"),
            ])
    }

    /// Buckets of all limits.
    var bucketCount: Int { buckets.withLock { $0.values.reduce(0) { $0 + $1.count } } }
}

extension APIError {
    /// Too much came from one side. Callers that take every answer but a 5xx for the end of it are told that it may
    /// succeed later; all others get 429 with RevenueCat's code for what is still under way.
    static func limited(_ route: APIRoute, after seconds: Int) -> APIError {
        let message = "Too many requests; try again in \(seconds) s."
        return route.endsWithAnyAnswer
            ? APIError(503, code: internalError, message, retryAfter: seconds)
            : APIError(429, code: 7638, message, retryAfter: seconds)
    }
}
