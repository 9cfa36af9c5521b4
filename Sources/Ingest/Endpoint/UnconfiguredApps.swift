import AppStore
import AppStoreAPI
import Base
import Daemon

/// Remembers which apps and environments Apple signed for that were refused: the sign of a forgotten configuration, or
/// of another app's notifications sent here.
final class UnconfiguredApps: Sendable {
    private struct State {
        /// `bundle id environment reason` to how often.
        var counts: [String: Int64] = [:]
        /// Of those that found no room.
        var others: Int64 = 0
        var hasNew = false
        var told: ContinuousClock.Instant?
    }

    /// Distinct ones that are kept.
    static let limit = 20
    /// Between two lines where nothing new came.
    private static let pause = Duration.seconds(3600)

    private let logger: Logger
    private let metrics: Metrics
    private let state = Monitor(State())

    init(logger: Logger, metrics: Metrics) {
        self.logger = logger
        self.metrics = metrics
        for reason in ["unknown_app", "environment_not_allowed"] {
            metrics.begin(
                .ingestRefusedSigned, ["bundle_id": "other", "environment": "other", "reason": reason])
        }
    }

    /// Counts a notification that is genuine, and was refused for this reason; logs all of them now and then.
    func note(_ subject: NotificationSubject?, reason: String, at now: ContinuousClock.Instant = .now) {
        let bundle = UnconfiguredApps.safe(subject?.bundleId, limit: 155)
        let environment = UnconfiguredApps.safe(subject?.environment, limit: 20)
        let key = "\(bundle) \(environment) \(reason)"
        let isNamed = state.change { UnconfiguredApps.add(key, to: &$0) }
        // Few distinct labels, whatever is signed: those without room share one.
        metrics.count(
            .ingestRefusedSigned,
            [
                "bundle_id": isNamed ? bundle : "other", "environment": isNamed ? environment : "other",
                "reason": reason,
            ])
        tell(at: now)
    }

    private func tell(at now: ContinuousClock.Instant) {
        let toTell = state.change { state -> (lines: [String], others: Int64)? in
            // What is new is told at once: nothing may come after it. There are few distinct ones.
            if !state.hasNew, let told = state.told, now - told < UnconfiguredApps.pause { return nil }
            state.told = now
            state.hasNew = false
            return (state.counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }, state.others)
        }
        guard let toTell else { return }
        logger.warning(
            "notifications for unconfigured apps rejected",
            ["refused": .strings(toTell.lines), "others": toTell.others > 0 ? .int(toTell.others) : nil])
    }

    /// Whether it is among those that are named.
    private static func add(_ key: String, to state: inout State) -> Bool {
        if let count = state.counts[key] {
            state.counts[key] = count &+ 1
        } else if state.counts.count < limit {
            state.counts[key] = 1
            state.hasNew = true
        } else {
            state.others &+= 1
            return false
        }
        return true
    }

    /// Letters, digits, dots, hyphens and underscores; anything else becomes `?`.
    private static func safe(_ text: String?, limit: Int) -> String {
        guard let text, !text.isEmpty else { return "none" }
        return String(
            decoding: text.utf8.prefix(limit).map { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
                    byte
                default: UInt8(ascii: "?")
                }
            }, as: UTF8.self)
    }
}
