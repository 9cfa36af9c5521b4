/// What can be tried in smaller forms.
protocol Shrinkable {
    /// The boldest first; each is smaller by some measure, so that there is an end to it.
    var simpler: [Self] { get }
}

/// Looks for the smallest case that fails: from which nothing can be left out.
func shrunk<Case: Shrinkable>(_ failing: Case, while fails: (Case) -> Bool) -> Case {
    var smallest = failing
    while let smaller = smallest.simpler.first(where: fails) { smallest = smaller }
    return smallest
}

/// Something that must hold for whatever chance comes up with.
struct Property: Sendable {
    /// What is wrong with a scenario; nil if nothing is.
    let fault: @Sendable (Scenario) -> String?
    /// What chance comes up with.
    let make: @Sendable (UInt64) -> Scenario

    init(
        of make: @escaping @Sendable (UInt64) -> Scenario = { Scenario(seed: $0) },
        fault: @escaping @Sendable (Scenario) -> String?
    ) {
        (self.make, self.fault) = (make, fault)
    }

    /// The first failing scenario of these seeds in its smallest form, with what is wrong; nil if there is none.
    func failure(in seeds: Range<UInt64>) -> String? {
        for seed in seeds {
            let scenario = make(seed)
            guard fault(scenario) != nil else { continue }
            let smallest = shrunk(scenario) { fault($0) != nil }
            return "\(fault(smallest) ?? "")\n\(smallest)"
        }
        return nil
    }
}
