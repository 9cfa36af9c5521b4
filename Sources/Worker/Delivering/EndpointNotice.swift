import Base
import Database
import HTTP

/// Something to tell about an endpoint, and what is noted with it: pure.
package struct EndpointNotice: Sendable {
    package let endpoint: String
    package let event: OperationsEvent
    package let mark: NoticeCandidate.Mark

    /// Deliveries that were given up are told once in so many milliseconds.
    private static let deadInterval: Int64 = 3_600_000

    /// All that is to be told now.
    package static func all(of concern: NoticeCandidate, policy: HealthPolicy, now: Int64) -> [EndpointNotice] {
        [recovery(concern)].compactMap { $0 } + warnings(concern, policy, now)
            + [disabling(concern), dead(concern, now)].compactMap { $0 }
    }

    private static func recovery(_ concern: NoticeCandidate) -> EndpointNotice? {
        guard let recovery = concern.health.recovery else { return nil }
        return make(
            .recovered, concern, cause: "\(recovery.since) \(recovery.at)", at: recovery.at,
            ["failing_since": .string(Timestamp.precise(recovery.since))], .recovered(at: recovery.at))
    }

    private static func warnings(
        _ concern: NoticeCandidate, _ policy: HealthPolicy, _ now: Int64
    ) -> [EndpointNotice] {
        guard concern.disabledReason == nil, let streak = concern.health.streak else { return [] }
        let due = policy.judge(concern.health, now: now).warnings
        guard due > concern.health.warned else { return [] }
        return (concern.health.warned + 1...due).map { number in
            make(
                .failing, concern, cause: "\(streak.since) \(number)", at: now,
                [
                    "warning": .int(Int64(number)), "failing_since": .string(Timestamp.precise(streak.since)),
                    "failures": .int(streak.failures), "last_failure": .text(concern.health.lastFailure?.outcome),
                    "last_failure_at": precise(concern.health.lastFailure?.at),
                    "disables_at": precise(policy.forecast(streak)),
                    "disables_after_failures": policy.disableAfter == nil ? .null : .int(HealthPolicy.leastFailures),
                ], .warned(number, since: streak.since))
        }
    }

    private static func disabling(_ concern: NoticeCandidate) -> EndpointNotice? {
        guard !concern.isDisablingTold, let at = concern.disabledAt, let cause = concern.disabling else { return nil }
        return make(
            .disabled, concern, cause: "\(at)", at: at,
            [
                "code": .string(cause.rawValue), "reason": .string(concern.disabledReason ?? cause.text),
                "failing_since": precise(concern.health.streak?.since),
                "failures": .int(concern.health.streak?.failures ?? 0),
                "last_failure": .text(concern.health.lastFailure?.outcome),
            ], .disabled(at: at))
    }

    private static func dead(_ concern: NoticeCandidate, _ now: Int64) -> EndpointNotice? {
        // A clock that went back must not keep it quiet.
        let isQuiet = concern.deadTold <= now && concern.deadTold > now - deadInterval
        guard concern.dead > 0, !isQuiet else { return nil }
        return make(
            .dead, concern, cause: "\(concern.deadTold)", at: now,
            [
                "count": .int(concern.dead),
                "newest_delivery_ids": .strings(concern.deadNewest),
            ], .dead(concern.dead, at: now))
    }

    private static func make(
        _ kind: OperationsEvent.Kind, _ concern: NoticeCandidate, cause: String, at: Int64,
        _ more: KeyValuePairs<String, JSON?>, _ mark: NoticeCandidate.Mark
    ) -> EndpointNotice {
        let id = concern.health.endpoint
        var members = [JSON.Member(name: "endpoint_id", value: .string(id))]
        // Without path and query, which may hold what is secret.
        members.append(
            JSON.Member(name: "endpoint_origin", value: .text((try? OutgoingURL(parsing: concern.url))?.origin)))
        if case .object(let rest) = JSON.object(more) { members += rest }
        return EndpointNotice(
            endpoint: id, event: OperationsEvent(kind, cause: "\(id) \(cause)", at: at, data: .object(members)),
            mark: mark)
    }

    private static func precise(_ milliseconds: Int64?) -> JSON {
        milliseconds.map { .string(Timestamp.precise($0)) } ?? .null
    }
}
