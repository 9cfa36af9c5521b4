import Base

/// The buckets of one limit, by a hash of what they are counted for, in bounded memory.
///
/// A bucket is one number: when it will be full again (the generic cell rate algorithm, ITU-T I.371). A full bucket and
/// one that is absent are the same, so that no timer has to remove buckets. The least recently used buckets make room
/// for others: a million ids cost as much memory as some thousands.
struct LimitBuckets {
    /// So many buckets at most are kept in each of two generations; 16 bytes each, and the room that dictionaries keep.
    static let generation = 16_384

    /// ns for which one point is missing after it was taken.
    private let interval: Int64
    /// ns in which an empty bucket fills up.
    private let period: Int64
    private let points: Int64
    /// When buckets are full again, in ns, by the hash of what they are counted for.
    private var recent: [UInt64: Int64] = [:]
    private var older: [UInt64: Int64] = [:]

    /// - Parameter limit: not off.
    init(_ limit: RequestLimit) {
        points = max(1, limit.points)
        period = max(1, limit.period.milliseconds * 1_000_000)
        interval = max(1, period / points)
    }

    var count: Int { recent.count + older.count }

    /// How long the points are missing, in ns; nil: the bucket holds them.
    func missing(_ cost: Int, of key: UInt64, at now: Int64) -> Int64? {
        let wait = full(key, now) + time(cost) - now - period
        return wait > 0 ? wait : nil
    }

    /// Takes points from a bucket; where it holds fewer, the rest is owed, up to what a whole bucket holds.
    mutating func take(_ cost: Int, of key: UInt64, at now: Int64) {
        set(key, min(full(key, now) + time(cost), now + 2 * period))
    }

    /// What costs more than a bucket holds takes a whole one.
    private func time(_ cost: Int) -> Int64 { min(Int64(cost), points) * interval }

    private func full(_ key: UInt64, _ now: Int64) -> Int64 { max(now, recent[key] ?? older[key] ?? now) }

    private mutating func set(_ key: UInt64, _ full: Int64) {
        if recent.count >= LimitBuckets.generation, recent[key] == nil {
            older = recent
            recent = [:]
        }
        recent[key] = full
    }
}
