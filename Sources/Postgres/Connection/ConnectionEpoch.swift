import Synchronization

/// Ends the use of all connections that were opened until now, each before its next use: those to a former primary, once
/// another server is known to be the right one.
package final class ConnectionEpoch: Sendable {
    private let number = Atomic<Int>(0)

    package init() {}

    var current: Int { number.load(ordering: .acquiring) }

    package func advance() {
        number.add(1, ordering: .releasing)
    }
}
