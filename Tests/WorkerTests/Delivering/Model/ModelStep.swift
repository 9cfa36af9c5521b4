/// One thing that happens; what exactly follows from the number and from what is there, so that any steps in any order
/// are something that can happen.
struct ModelStep: Sendable, CustomStringConvertible {
    enum Kind: String, CaseIterable {
        case publish, answer, commit, look, wait, resend, replay, copy, takeOver, crash, restart
        case disable, drop, enable, remove, add, rotate

        /// How often.
        fileprivate var weight: Int {
            switch self {
            case .answer: 30
            case .publish, .commit, .look: 14
            case .wait, .resend: 6
            case .disable, .enable, .takeOver, .replay: 4
            case .drop, .copy: 3
            case .crash: 2
            case .remove, .add, .rotate, .restart: 1
            }
        }
    }

    let kind: Kind
    let dice: UInt64

    var description: String { kind.rawValue }

    /// The same for the same seed.
    static func steps(seed: UInt64, count: Int) -> [ModelStep] {
        let kinds = Kind.allCases.flatMap { Array(repeating: $0, count: $0.weight) }
        var chance = ModelChance(seed: seed)
        return (0..<count).map { _ in
            ModelStep(kind: kinds.randomElement(using: &chance) ?? .look, dice: chance.next())
        }
    }

    /// Leaves out what is not needed for the failure, the largest parts first; tries only so often.
    static func shrunk(
        _ failing: [ModelStep], tries: Int = 40, while fails: ([ModelStep]) throws -> Bool
    ) rethrows -> [ModelStep] {
        var (steps, part, left) = (failing, failing.count / 2, tries)
        while part > 0, left > 0 {
            var start = 0
            while start < steps.count, left > 0 {
                var shorter = steps
                shorter.removeSubrange(start..<min(start + part, steps.count))
                left -= 1
                if try fails(shorter) { steps = shorter } else { start += part }
            }
            part /= 2
        }
        return steps
    }
}

/// Repeatable chance (splitmix64).
struct ModelChance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// One of so many.
    mutating func pick(_ count: Int) -> Int { count > 0 ? Int(next() % UInt64(count)) : 0 }
}
