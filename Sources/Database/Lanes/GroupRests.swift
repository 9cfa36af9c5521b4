import Postgres

/// Groups of lanes that rest after they failed, so that one whose server does not answer takes a part of the time of those that
/// share a thread with it, and no more. Pure.
///
/// Where all lanes are one group nothing rests: there is nothing that could be done meanwhile.
package struct GroupRests: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private var until: [Int: Instant] = [:]
    private let factor: Double

    private static let longest = Duration.seconds(30)

    /// - Parameter share: of the time that may be spent on failing.
    package init(share: Double = 1 / 5) {
        factor = 1 / share - 1
    }

    /// - Parameter begun: when that began which failed.
    package mutating func failed(_ group: Int, of groups: LaneGroups, since begun: Instant, at now: Instant = .now) {
        guard !groups.isOne else { return }
        until[group] = now + min((now - begun) * factor, GroupRests.longest)
    }

    package mutating func succeeded(_ group: Int) {
        guard !until.isEmpty else { return }
        until[group] = nil
    }

    /// Whether some group failed last time.
    package var isAny: Bool { !until.isEmpty }

    package func isResting(_ group: Int, at now: Instant = .now) -> Bool {
        until[group].map { now < $0 } ?? false
    }

    /// Runs the body for each of these whose group does not rest, those that failed last time at the end. One that fails does not stop
    /// the others, and rests then.
    ///
    /// - Returns: what failed.
    /// - Throws: what failed where all lanes are one group, and the loss of the connection.
    package mutating func run<Element>(
        _ parts: [LaneGroups.Part<Element>], of groups: LaneGroups, _ body: (LaneGroups.Part<Element>) throws -> Void
    ) throws -> [any Error] {
        var failures: [any Error] = []
        for part in ordered(parts) where !isResting(part.group) {
            let begun = ContinuousClock.now
            do {
                try body(part)
                succeeded(part.group)
            } catch {
                guard !groups.isOne, !error.isConnectionLost else { throw error }
                failed(part.group, of: groups, since: begun)
                failures.append(error)
            }
        }
        return failures
    }

    /// Those that failed last time come last, so that they keep no others waiting.
    package func ordered<Element>(_ parts: [LaneGroups.Part<Element>]) -> [LaneGroups.Part<Element>] {
        guard !until.isEmpty else { return parts }
        return parts.filter { until[$0.group] == nil } + parts.filter { until[$0.group] != nil }
    }
}
