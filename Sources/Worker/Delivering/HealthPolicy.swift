import Base
import Database

/// When operators are warned of an endpoint that fails, and when it is disabled: pure.
package struct HealthPolicy: Sendable, Equatable {
    /// Milliseconds without a success; nil: never.
    package let disableAfter: Int64?

    /// Attempts that must have failed before an endpoint is disabled: little traffic proves little.
    package static let leastFailures: Int64 = 10
    /// Warnings come at these hundredths of the time: at one day and at three days of five.
    private static let warnings: [Int64] = [20, 60]
    /// Where nothing is ever disabled, people are warned as if it were after five days.
    private static let usual: Int64 = 5 * 86_400_000

    package init(disableAfter: Duration?) {
        let milliseconds = disableAfter?.milliseconds ?? 0
        self.disableAfter = milliseconds > 0 ? milliseconds : nil
    }

    package struct Judgement: Sendable, Equatable {
        /// How many warnings are due by now, those that were told included.
        package var warnings = 0
        package var disables = false

        package init(warnings: Int = 0, disables: Bool = false) {
            self.warnings = warnings
            self.disables = disables
        }
    }

    /// When an endpoint with this streak is disabled if nothing changes; not before enough attempts failed.
    package func forecast(_ streak: EndpointHealth.Streak?) -> Int64? {
        guard let streak, let disableAfter else { return nil }
        let (end, overflows) = streak.since.addingReportingOverflow(disableAfter)
        return overflows ? nil : end
    }

    /// - Parameter now: milliseconds since 1970, by the database's clock.
    package func judge(_ health: EndpointHealth, now: Int64) -> Judgement {
        guard let streak = health.streak, now > streak.since else { return Judgement() }
        let time = disableAfter ?? HealthPolicy.usual
        let (age, overflows) = now.subtractingReportingOverflow(streak.since)
        guard !overflows else { return Judgement() }
        let warnings = HealthPolicy.warnings.count { age >= time / 100 * $0 }
        // Not while a warning is still to be told, and only by a failure at the end of the time: an outage of our own
        // proves nothing.
        let isProven = health.lastFailure.map { $0.at >= now - (age - time) } ?? false
        return Judgement(
            warnings: warnings,
            disables: disableAfter != nil && age >= time && isProven
                && streak.failures >= HealthPolicy.leastFailures && health.warned >= HealthPolicy.warnings.count)
    }
}
