/// When Apple is asked how a purchase stands of which news is missing: soon after the end, then ever more seldom. Pure.
package enum StatusPollSchedule {
    /// After the end, in ms; the last one again and again from then on, at longer distances.
    private static let waits: [Int64] = [10 * 60 * .second, .hour, 6 * .hour, .day]
    private static let distance = 3 * Int64.day

    /// - Parameter end: when access ended, in ms.
    package static func first(after end: Int64) -> Int64 { end.later(by: waits[0]) }

    /// The first instant after now; nil once Apple itself has given up.
    ///
    /// - Parameters:
    ///   - end: when access ended, in ms.
    ///   - now: ms.
    package static func next(after end: Int64, now: Int64) -> Int64? {
        if let wait = waits.first(where: { now < end.later(by: $0) }) { return end.later(by: wait) }
        let (past, isFar) = now.subtractingReportingOverflow(end.later(by: .day))
        guard !isFar, past < Purchase.retryPeriod else { return nil }
        let next = end.later(by: .day + (past / distance + 1) * distance)
        return next <= end.later(by: Purchase.retryPeriod) ? next : nil
    }
}

extension Purchase {
    /// The end, in ms, after which Apple has not said how the subscription goes on though it should; nil where nothing is
    /// missing, or Apple would not know any more. An end that is to come counts while a charge is being retried.
    package func endWithoutWord(at now: Int64) -> Int64? {
        guard isRenewable else { return nil }
        if let retryEndsAt, now < retryEndsAt { return accessUntil }
        guard let ending, ending.certainty != .told, ending.instant <= now,
            now < ending.instant.later(by: retryPeriod)
        else { return nil }
        return ending.instant
    }
}
