import Base
import Database
import Postgres

/// Lanes in which something failed: they are taken apart from the others, in halves, until what fails stands alone. Pure.
///
/// A notification is held only when it failed alone, and for a reason that lies in its data, or for its time while others were
/// applied: whatever else is wrong (the database, its schema, its rights, a lock) would hold one after another.
struct LaneTrouble {
    typealias Instant = ContinuousClock.Instant

    /// Lanes that failed together.
    struct Group: Equatable {
        fileprivate(set) var lanes: [Lane]
        /// So many notifications of a lane are taken at most.
        fileprivate(set) var limit: Int
        fileprivate(set) var notBefore: Instant
        /// The last notification of each lane that was in the transaction that failed.
        fileprivate let last: [Lane: Int64]
        /// Failures in a row that may pass.
        fileprivate var failures = 0

        /// Whether it is to be tried again with the group. Halves have half of what failed, and nothing that came since: behind a
        /// backlog all of them would be as large as what failed.
        func takes(_ seq: Int64, of lane: Lane) -> Bool { lanes.count == 1 || seq <= last[lane] ?? .min }
    }

    enum Verdict: Equatable {
        /// It is tried again, smaller or later.
        case again
        /// The notification is passed over for a while, so that the others of its lane fare better.
        case passOver
        /// The notification is held.
        case hold
    }

    private(set) var groups: [Group] = []
    /// What was too slow alone, by its number.
    private var slowAlone: [Int64: SlowAlone] = [:]

    private struct SlowAlone {
        let lane: Lane
        /// Whether something else was applied since, by the server that has the lane.
        var wereOthersApplied = false
    }

    /// Notifications of a lane that are taken at once where nothing is wrong.
    static let perLane = 16
    private static let remembered = 1000
    private static let pauses = [50, 200, 1000, 5000].map { Duration.milliseconds($0) }

    /// Lanes that are not taken with the others.
    var lanes: Set<Lane> { Set(groups.flatMap(\.lanes)) }

    /// These failed with others that are all right, perhaps.
    ///
    /// - Parameter last: the last notification of each lane that was in the transaction.
    mutating func begin(_ lanes: Set<Lane>, last: [Lane: Int64], _ fault: PostgresFault, at now: Instant) {
        guard !lanes.isEmpty else { return }
        let group = Group(lanes: lanes.sorted(), limit: LaneTrouble.perLane, notBefore: now, last: last)
        _ = failed(group, fault, at: now)
    }

    /// The next group whose time has come: the caller says how it went. The oldest first, so that each has its turn.
    ///
    /// - Parameter isResting: whether the group is left alone now, whatever its time.
    mutating func take(at now: Instant, except isResting: (Group) -> Bool = { _ in false }) -> Group? {
        guard let place = groups.firstIndex(where: { $0.notBefore <= now && !isResting($0) }) else { return nil }
        return groups.remove(at: place)
    }

    /// How long until there is one; nil: nothing is in trouble.
    func wait(from now: Instant) -> Duration? { groups.map { max(.zero, $0.notBefore - now) }.min() }

    /// Puts back what was not tried.
    mutating func putBack(_ group: Group) { groups.insert(group, at: 0) }

    /// What was in the group was committed: a lane that failed by itself takes more again, and is soon with the others.
    mutating func succeeded(_ group: Group, isDone: Bool, at now: Instant) {
        guard group.lanes.count == 1, group.limit < LaneTrouble.perLane, !isDone else { return }
        groups.append(Group(lanes: group.lanes, limit: group.limit * 2, notBefore: now, last: [:]))
    }

    /// - Parameters:
    ///   - count: how many notifications were in the transaction.
    ///   - first: the number of the first of them.
    ///   - isTimeout: whether time ran out.
    mutating func failed(
        _ group: Group, _ fault: PostgresFault, count: Int = 0, first: Int64? = nil, isTimeout: Bool = false,
        at now: Instant
    ) -> Verdict {
        var group = group
        if fault != .work {
            let pause = LaneTrouble.pauses[min(group.failures, LaneTrouble.pauses.count - 1)]
            group.notBefore = now + pause
            group.failures += 1
            // Waiting helps once as a rule; the second time the group is made smaller.
            if group.failures < 2 {
                groups.append(group)
                return .again
            }
        }
        if group.lanes.count > 1 {
            let half = group.lanes.count / 2
            for lanes in [group.lanes.prefix(half), group.lanes.suffix(from: half)] {
                var part = group
                part.lanes = Array(lanes)
                groups.append(part)
            }
            return .again
        }
        guard count <= 1 else {
            group.limit = max(1, min(group.limit, count) / 2)
            groups.append(group)
            return .again
        }
        groups.append(group)
        guard let first, let lane = group.lanes.first else { return .again }
        if fault == .work { return .hold }
        guard isTimeout else { return .again }
        if slowAlone[first]?.wereOthersApplied == true {
            slowAlone[first] = nil
            return .hold
        }
        if slowAlone.count >= LaneTrouble.remembered { slowAlone.removeAll() }
        slowAlone[first] = slowAlone[first] ?? SlowAlone(lane: lane)
        return .passOver
    }

    /// A transaction with so many notifications was committed.
    ///
    /// - Parameter isBeside: whether its lanes lie on the same server as this one: another server says nothing about it.
    mutating func applied(_ count: Int, isBeside: (Lane) -> Bool = { _ in true }) {
        guard count > 0, !slowAlone.isEmpty else { return }
        for (key, slow) in slowAlone where isBeside(slow.lane) { slowAlone[key]?.wereOthersApplied = true }
    }

    /// Lanes that are another worker's now.
    mutating func forget(_ lost: Set<Lane>) {
        groups = groups.compactMap { group in
            var group = group
            group.lanes.removeAll(where: lost.contains)
            return group.lanes.isEmpty ? nil : group
        }
    }
}
