import Base

/// The waits after the end of each failed attempt, of an endpoint that has its own.
package struct RetrySchedule: Sendable, Equatable {
    /// Milliseconds; one more attempt than there are waits.
    package let waits: [Int64]

    /// As many, and as long, as the configuration allows.
    package static let countLimit = 100
    package static let waitLimits = Duration.milliseconds(100)...Duration.seconds(30 * 86_400)
    /// Days in which the last attempt has to come: what is sent may not be kept much longer.
    private static let totalLimit = Duration.seconds(90 * 86_400)

    /// Why a schedule is refused.
    package struct Rejection: Error, Sendable, Equatable, CustomStringConvertible {
        package let description: String
    }

    package init(waits: [Int64]) {
        self.waits = waits
    }

    /// Reads `1h,12h,24h`; `none` is a single attempt.
    package init(parsing text: String) throws(Rejection) {
        guard text != "none" else {
            waits = []
            return
        }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count <= RetrySchedule.countLimit else {
            throw Rejection(description: "there are more than \(RetrySchedule.countLimit) waits")
        }
        var waits: [Int64] = []
        for part in parts {
            let part = part.drop { $0 == " " }
            guard let wait = Duration(text: String(part)), RetrySchedule.waitLimits.contains(wait) else {
                let limits = RetrySchedule.waitLimits
                throw Rejection(
                    description: "'\(part)' is not a wait from \(limits.lowerBound.text) to \(limits.upperBound.text), "
                        + "such as 10s, 5m or 24h")
            }
            waits.append(wait.milliseconds)
        }
        guard waits.reduce(0, +) <= RetrySchedule.totalLimit.milliseconds else {
            throw Rejection(description: "all waits together exceed \(RetrySchedule.totalLimit.text)")
        }
        self.waits = waits
    }

    package var attempts: Int { waits.count + 1 }

    /// `1h, 12h, 24h`.
    package var text: String {
        waits.isEmpty ? "none" : waits.map { Duration.milliseconds($0).text }.joined(separator: ", ")
    }

    /// `6 attempts in 157 hours`, without what attempts and jitter add.
    package var summary: String {
        guard !waits.isEmpty else { return "1 attempt" }
        let total = waits.reduce(0, +)
        let units = [("hours", Int64(3_600_000)), ("minutes", 60_000), ("seconds", 1000), ("milliseconds", 1)]
        let (name, size) = units.first { total % $0.1 == 0 && total > $0.1 } ?? ("milliseconds", 1)
        return "\(attempts) attempts in \(total / size) \(name)"
    }
}
