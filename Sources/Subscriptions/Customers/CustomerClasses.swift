/// Which ids name one customer, as time goes on.
struct CustomerClasses {
    /// A customer at some time: an id that is deleted and comes back is another one.
    struct Member: Sendable, Hashable {
        fileprivate let index: Int
    }

    private var parents: [Int] = []
    private var named: [Bool] = []
    private var behaviors: [(behavior: RestoreBehavior?, number: Int64)?] = []
    private var members: [String: Member] = [:]

    mutating func member(_ id: String, isNamed: Bool? = nil) -> Member {
        let id = AppUserID.canonical(id)
        if let known = members[id] {
            if isNamed == true { named[top(known)] = true }
            return known
        }
        let member = Member(index: parents.count)
        parents.append(parents.count)
        named.append(isNamed ?? !Owner.isAnonymous(id))
        behaviors.append(nil)
        members[id] = member
        return member
    }

    private func top(_ member: Member) -> Int {
        var index = member.index
        while parents[index] != index { index = parents[index] }
        return index
    }

    func areOne(_ one: Member, _ other: Member) -> Bool { top(one) == top(other) }

    /// Whether some id of the customer was given by an app.
    func isNamed(_ member: Member) -> Bool { named[top(member)] }

    mutating func join(_ one: Member, _ other: Member) {
        let (left, right) = (top(one), top(other))
        guard left != right else { return }
        parents[left] = right
        named[right] = named[left] || named[right]
        // Of customers who become one the last word counts.
        if let word = behaviors[left], word.number > behaviors[right]?.number ?? .min { behaviors[right] = word }
    }

    mutating func setBehavior(_ behavior: RestoreBehavior?, of id: String, number: Int64) {
        let member = member(id)
        behaviors[top(member)] = (behavior, number)
    }

    func behavior(of member: Member) -> RestoreBehavior? { behaviors[top(member)]?.behavior }

    /// The id names no customer from now on. Returns who it was.
    mutating func delete(_ id: String) -> Member {
        let gone = member(id)
        members[AppUserID.canonical(id)] = nil
        return gone
    }
}
