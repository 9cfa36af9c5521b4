/// A life made by chance, and the order in which it is heard of. Any of its steps can be left out.
struct Scenario: Sendable {
    struct Step: Sendable, Hashable {
        let deed: Deed
        /// ms after the step before.
        let wait: Int64
        /// Chooses among what the deed leaves open.
        let pick: Int
        /// Places in the order of hearing: one for each time that it is heard.
        var hearings: [Int]
    }

    let seed: UInt64
    let isFamily: Bool
    var steps: [Step]

    init(seed: UInt64, isFamily: Bool = false, steps: [Step]) {
        (self.seed, self.isFamily, self.steps) = (seed, isFamily, steps)
    }

    init(seed: UInt64) {
        var chance = Chance(seed: seed)
        let isOnce = Int.random(in: 0..<8, using: &chance) == 0
        let start = isOnce ? Deed.buyOnce : Deed.subscriptionStarts.randomElement(using: &chance) ?? .start
        let following = isOnce ? Deed.ofThingsBoughtOnce : Deed.ofSubscriptions
        let count = Int.random(in: 1...14, using: &chance)
        let deeds = [start] + (0..<count).map { _ in following.randomElement(using: &chance) ?? .renew }
        // How far a notification can be late, in places; sometimes not at all.
        let delay = [0, 3, 100].randomElement(using: &chance) ?? 0
        self.seed = seed
        isFamily = Int.random(in: 0..<6, using: &chance) == 0
        steps = deeds.enumerated().map { place, deed in
            let times = Int.random(in: 0..<4, using: &chance) == 0 ? 2 : 1
            return Step(
                deed: deed, wait: Self.wait(&chance), pick: Int.random(in: 0..<1000, using: &chance),
                hearings: (0..<times).map { _ in place + Int.random(in: 0...delay, using: &chance) })
        }
    }

    /// A life of payments and refunds; every `orders` seeds are one life, heard as it was signed, in reverse, and shuffled.
    static func ofMoney(_ seed: UInt64, orders: UInt64) -> Scenario {
        var (chance, order) = (Chance(seed: seed / orders + 1_000_000), Chance(seed: seed))
        let isOnce = Int.random(in: 0..<8, using: &chance) == 0
        let following = isOnce ? Deed.ofMoneyOnce : Deed.ofMoney
        let count = Int.random(in: 2...11, using: &chance)
        let deeds =
            [isOnce ? .buyOnce : .start] + (0..<count).map { _ in following.randomElement(using: &chance) ?? .renew }
        let steps = deeds.enumerated().map { place, deed in
            let (wait, pick) = (wait(&chance), Int.random(in: 0..<1000, using: &chance))
            let times = Int.random(in: 0..<3, using: &order) == 0 ? 2 : 1
            let hearings =
                switch seed % orders {
                case 0: [place]
                case 1: [count - place]
                default: (0..<times).map { _ in Int.random(in: 0...100, using: &order) }
                }
            return Step(deed: deed, wait: wait, pick: pick, hearings: hearings)
        }
        return Scenario(seed: seed, steps: steps)
    }

    private static func wait(_ chance: inout Chance) -> Int64 {
        switch Int.random(in: 0..<10, using: &chance) {
        case 0: Int64.random(in: 0...2 * second, using: &chance)
        case 1, 2: Int64.random(in: 20 * day...70 * day, using: &chance)
        default: Int64.random(in: 1...12 * day, using: &chance)
        }
    }

    /// What Apple signed, step by step; nil where a step could not happen.
    private func lived() -> (life: Life, tellings: [Telling?]) {
        var life = Life("s\(seed)", isFamily: isFamily)
        var at = epoch
        let tellings = steps.map { step in
            at += step.wait
            return life.live(step.deed, pick: step.pick, at: at)
        }
        return (life, tellings)
    }

    var life: Life { lived().life }

    /// In the order of hearing, with repetitions.
    var heard: [Telling] {
        zip(steps, lived().tellings).enumerated().flatMap { place, pair in
            pair.0.hearings.compactMap { hearing in pair.1.map { (hearing, place, $0) } }
        }
        .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }
}

extension Scenario: Shrinkable {
    /// With fewer steps, then with fewer repetitions, then heard in order.
    var simpler: [Scenario] {
        var candidates: [Scenario] = []
        var size = steps.count / 2
        while size > 0 {
            for start in stride(from: 0, to: steps.count, by: size) {
                var rest = steps
                rest.removeSubrange(start..<min(start + size, steps.count))
                candidates.append(with(rest))
            }
            size /= 2
        }
        for (place, step) in steps.enumerated() where step.hearings.count > 1 {
            for index in step.hearings.indices {
                var rest = steps
                rest[place].hearings.remove(at: index)
                candidates.append(with(rest))
            }
        }
        for (place, step) in steps.enumerated() where step.hearings != [place] && step.hearings.count == 1 {
            var rest = steps
            rest[place].hearings = [place]
            candidates.append(with(rest))
        }
        return candidates
    }

    private func with(_ steps: [Step]) -> Scenario { Scenario(seed: seed, isFamily: isFamily, steps: steps) }
}

extension Scenario: CustomStringConvertible {
    var description: String {
        let lines = steps.map { step in
            "  \(step.deed) after \(step.wait) ms, pick \(step.pick), heard at \(step.hearings)"
        }
        return (["seed \(seed)\(isFamily ? ", a family member" : ""), \(steps.count) steps:"] + lines)
            .joined(separator: "\n")
    }
}
