import Base
import Daemon
import Synchronization

/// Logs which callers a limit refuses: each offender at once, and again every half minute while it lasts. The number of
/// lines in half a minute and the memory are bounded, however many offenders there are.
final class LimitComplaints: Sendable {
    fileprivate struct State {
        /// How often an offender was refused since its last line, and when that was, in ns.
        var offenders: [UInt64: (count: Int, told: Int64)] = [:]
        var windowBegan = Int64.min
        var lines = 0
        /// Refused in this window without a line of their own.
        var others = 0
    }

    fileprivate static let interval: Int64 = 30_000_000_000
    fileprivate static let mostOffenders = 256
    fileprivate static let mostLines = 20

    private let state = Mutex(State())
    private let logger: Logger

    init(_ logger: Logger) {
        self.logger = logger
    }

    /// - Parameter now: ns.
    func note(_ request: LimitedRequest, _ charge: LimitedRequest.Charge, retryAfter: Int, at now: Int64) {
        guard let (count, others) = state.withLock({ $0.note(charge.bucket, now) }) else { return }
        logger.warning(
            "requests limited",
            [
                "limit": .string(charge.kind.rawValue), "offender": .string(charge.value),
                "route": .string(request.route.path), "count": .int(Int64(count)),
                "retry_after_s": .int(Int64(retryAfter)), "others": others > 0 ? .int(Int64(others)) : nil,
                "hint": charge.kind == .address && request.isOfThisNetwork
                    ? .string(
                        "if this is a proxy, let it send X-Forwarded-For and name its network in api.trusted_proxies")
                    : nil,
            ])
    }
}

extension LimitComplaints.State {
    /// How often the offender was refused since the last line, and how often others without one; nil: no line is due.
    fileprivate mutating func note(_ offender: UInt64, _ now: Int64) -> (count: Int, others: Int)? {
        if windowBegan == .min || now - windowBegan >= LimitComplaints.interval {
            (windowBegan, lines) = (now, 0)
            // An offender that was not refused for a while is forgotten.
            offenders = offenders.filter { now - $0.value.told < 2 * LimitComplaints.interval }
        }
        if let known = offenders[offender], now - known.told < LimitComplaints.interval {
            offenders[offender]?.count += 1
            return nil
        }
        let isKnown = offenders[offender] != nil
        guard lines < LimitComplaints.mostLines, isKnown || offenders.count < LimitComplaints.mostOffenders else {
            others += 1
            return nil
        }
        let count = (offenders[offender]?.count ?? 0) + 1
        offenders[offender] = (0, now)
        lines += 1
        defer { others = 0 }
        return (count, others)
    }
}
