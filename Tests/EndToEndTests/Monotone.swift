import Synchronization

/// Counts up, from any thread.
final class Monotone: Sendable {
    private let number = Atomic<Int>(0)

    var value: Int { number.load(ordering: .sequentiallyConsistent) }

    func next() -> Int { number.add(1, ordering: .sequentiallyConsistent).newValue }
}
