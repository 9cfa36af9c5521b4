/// So many calls an hour, one after the other at even distances. Pure.
struct HourlyRate: Sendable {
    /// In ms; nil: no calls at all.
    private let distance: Int64?
    /// From when on the next one may be made, in ms.
    private var next = Int64.min

    init(perHour: Int64) {
        distance = perHour > 0 ? (3_600_000 + perHour - 1) / perHour : nil
    }

    func allows(at now: Int64) -> Bool {
        // A clock that was set back must not stop the calls for long.
        distance.map { now >= next || now < next - $0 } ?? false
    }

    mutating func spend(at now: Int64) {
        guard let distance else { return }
        next = now + distance
    }
}
