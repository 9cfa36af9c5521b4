/// Ids in the order of their turns; both ends in constant time.
struct OrderedIDQueue: Sendable {
    private var ids: [String] = []
    private var first = 0

    var isEmpty: Bool { first == ids.count }

    mutating func append(_ id: String) {
        ids.append(id)
    }

    mutating func next() -> String? {
        guard first < ids.count else { return nil }
        defer {
            first += 1
            if first == ids.count || first > 1024 {
                ids.removeFirst(first)
                first = 0
            }
        }
        return ids[first]
    }
}
