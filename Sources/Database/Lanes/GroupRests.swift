import Postgres

/// Groups of lanes that rest after they failed, so that those whose servers do not answer take a part of the time of a thread, and
/// no more, however many they are. Pure.
///
/// While the rest lasts none of the groups that failed is tried; then one is, the one that was tried longest ago. If it fails, all of
/// them rest again; if not, the next one may be tried at once: what they failed for may be over.
///
/// Where all lanes are one group nothing rests: there is nothing that could be done meanwhile.
package struct GroupRests: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The groups that failed when they were tried last, in the order of these failures.
    private var failing: [Int] = []
    private var until: Instant?
    /// How often something failed since nothing was failing, and which groups answered since then.
    private var failures = 0
    private var answered: Set<Int> = []
    private let factor: Double
    private let asksLittle: Bool
    private let longest: Duration

    private static let shortest = Duration.milliseconds(100)

    /// - Parameters:
    ///   - share: of the time that may be spent on failing.
    ///   - asksLittle: whether what is asked takes no time, is of the group's own server, and is in a hurry. Then what runs into a time
    ///     limit is of a server that hangs, as all other groups on it are; and the first rests are short.
    ///   - longest: how long groups rest at most, that may be well again.
    package init(share: Double = 1 / 5, asksLittle: Bool = false, longest: Duration = .seconds(30)) {
        factor = 1 / share - 1
        self.asksLittle = asksLittle
        self.longest = longest
    }

    /// - Parameter begun: when that began which failed.
    package mutating func failed(_ group: Int, of groups: LaneGroups, since begun: Instant, at now: Instant = .now) {
        guard !groups.isOne else { return }
        failing.removeAll { $0 == group }
        failing.append(group)
        answered.remove(group)
        failures += 1
        let factor = asksLittle ? min(factor, Double(failures)) : factor
        // A server that refuses at once is not asked all the time.
        let rest = max(until ?? now, now) + max((now - begun) * factor, GroupRests.shortest)
        until = min(rest, now + longest)
    }

    /// The same for all groups of the server, where the error says that it does not answer.
    package mutating func failed(
        _ group: Int, after error: any Error, of groups: LaneGroups, since begun: Instant, at now: Instant = .now
    ) {
        // Where more is asked, it may have been of another server, as for a customer's other purchases.
        if asksLittle, !groups.isOne, error.fault == .away || error.isTimeout {
            // They come before it, since they were not tried. One that answered meanwhile may have moved to another server.
            failing += groups.neighbours(of: group).filter {
                $0 != group && !failing.contains($0) && !answered.contains($0)
            }
        }
        failed(group, of: groups, since: begun, at: now)
    }

    package mutating func succeeded(_ group: Int) {
        guard !failing.isEmpty else { return }
        failing.removeAll { $0 == group }
        answered.insert(group)
        if failing.isEmpty { (failures, answered) = (0, []) }
    }

    /// Whether some group failed last time.
    package var isAny: Bool { !failing.isEmpty }

    package func isFailing(_ group: Int) -> Bool { failing.contains(group) }

    package func isResting(_ group: Int, at now: Instant = .now) -> Bool {
        guard let until, now < until else { return false }
        return failing.contains(group)
    }

    /// Runs the body for each of these whose group does not rest, those that failed last time at the end. One that fails does not stop
    /// the others, and rests then.
    ///
    /// - Parameter body: says whether it asked anything: only then the group is known to answer.
    /// - Returns: what failed.
    /// - Throws: what failed where all lanes are one group, and the loss of the connection.
    package mutating func run<Element>(
        _ parts: [LaneGroups.Part<Element>], of groups: LaneGroups, _ body: (LaneGroups.Part<Element>) throws -> Bool
    ) throws -> [any Error] {
        var thrown: [any Error] = []
        for part in ordered(parts) where !isResting(part.group) {
            let begun = ContinuousClock.now
            do {
                if try body(part) { succeeded(part.group) }
            } catch {
                guard !groups.isOne, !error.isConnectionLost else { throw error }
                failed(part.group, after: error, of: groups, since: begun)
                thrown.append(error)
            }
        }
        return thrown
    }

    /// Those that failed last time come last, so that they keep no others waiting; of them, the one that was tried longest ago first.
    package func ordered<Element>(_ parts: [LaneGroups.Part<Element>]) -> [LaneGroups.Part<Element>] {
        ordered(parts, by: \.group)
    }

    package func ordered(_ groups: [Int]) -> [Int] { ordered(groups) { $0 } }

    private func ordered<Element>(_ parts: [Element], by group: (Element) -> Int) -> [Element] {
        guard !failing.isEmpty else { return parts }
        let places = Dictionary(uniqueKeysWithValues: failing.enumerated().map { ($0.element, $0.offset) })
        let failed = parts.compactMap { part in places[group(part)].map { (place: $0, part: part) } }
        return parts.filter { places[group($0)] == nil } + failed.sorted { $0.place < $1.place }.map(\.part)
    }
}
