import Base
import HTTPServer
import Synchronization
import Telemetry

/// The limits of one process: counts what requests cost, and refuses what goes beyond.
///
/// It needs no I/O: the threads of the listener call it before a request costs anything else.
package final class RequestLimiter: Sendable {
    let settings: LimitSettings
    private let buckets: Mutex<[LimitKind: LimitBuckets]>
    private let complaints: LimitComplaints
    private let metrics: Metrics
    private let now: @Sendable () -> Int64

    /// - Parameter now: in ns, of a clock that never goes back.
    package init(
        _ settings: LimitSettings = LimitSettings(), logger: Logger, metrics: Metrics,
        now: @escaping @Sendable () -> Int64 = RequestLimiter.monotonic
    ) {
        self.settings = settings
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

    /// Nil where every limit has room, and each has counted it; else nothing is counted, and the caller is told when to
    /// come again: in whole seconds, one at least.
    func admit(_ request: LimitedRequest) -> APIError? {
        let (now, charges) = (now(), request.charges)
        let refused: (LimitedRequest.Charge, Int64)? = buckets.withLock { buckets in
            for charge in charges {
                if let wait = buckets[charge.kind]?.missing(charge.cost, of: charge.bucket, at: now) {
                    return (charge, wait)
                }
            }
            for charge in charges { buckets[charge.kind]?.take(charge.cost, of: charge.bucket, at: now) }
            return nil
        }
        guard let (charge, wait) = refused else { return nil }
        let seconds = Int((wait + 999_999_999) / 1_000_000_000)
        metrics.count(.apiLimited, ["limit": charge.kind.rawValue, "route": request.route.path])
        complaints.note(request, charge, retryAfter: seconds, at: now)
        return .limited(request.route, after: seconds)
    }

    /// Takes the answer into account: a customer made by reading costs more, and a post that Apple did not sign does
    /// not count for the Apple account that it names.
    func settle(_ request: LimitedRequest, _ response: HTTPResponse) {
        let isNew = response.status == 201 && request.route.method == "GET"
        let isForged = request.account != nil && response.status >= 400 && APIError.isInvalidReceipt(response)
        guard isNew || isForged else { return }
        let now = now()
        buckets.withLock { buckets in
            for charge in request.charges {
                if isNew, charge.kind == .address || charge.kind == .publicKey {
                    buckets[charge.kind]?.take(RequestCost.newCustomer, of: charge.bucket, at: now)
                }
                if isForged, charge.kind == .appleAccount {
                    buckets[charge.kind]?.giveBack(charge.cost, of: charge.bucket, at: now)
                }
            }
        }
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
