import Database
import Postgres

/// What consumers asked for with their answers, until it is done: no more events, ever, or none for a while.
package struct ConsumerDirectives: Sendable {
    package struct Change: Sendable, Equatable {
        package var disabling: EndpointDisabling?
        /// Milliseconds from when it was asked for.
        package var pause: Int64?
    }

    private var disablings: [String: EndpointDisabling] = [:]
    /// Until when.
    private var pauses: [String: Int64] = [:]

    package init() {}

    package var isEmpty: Bool { disablings.isEmpty && pauses.isEmpty }

    /// Whether it should not wait for the next regular look. An endpoint is disabled once; a pause can be asked for with
    /// every answer, and nothing more is begun to that endpoint before the next look anyway.
    package var isUrgent: Bool { !disablings.isEmpty }

    /// Those that are to be changed.
    package var endpoints: Set<String> { Set(disablings.keys).union(pauses.keys) }

    /// What is owed to one of them alone.
    package func of(_ endpoint: String) -> ConsumerDirectives {
        var changes = ConsumerDirectives()
        changes.disablings[endpoint] = disablings[endpoint]
        changes.pauses[endpoint] = pauses[endpoint]
        return changes
    }

    /// It is done.
    package mutating func remove(_ endpoint: String) {
        disablings[endpoint] = nil
        pauses[endpoint] = nil
    }

    package mutating func note(_ change: Change, of endpoint: String, now: Int64) {
        if let disabling = change.disabling, disablings[endpoint] == nil {
            disablings[endpoint] = disabling
        }
        if let pause = change.pause {
            pauses[endpoint] = max(pauses[endpoint] ?? 0, now + pause)
        }
    }

    /// Does it, once the results are committed: no data transaction waits for an endpoint's row, and no worker that lost
    /// its lanes disables anything. The endpoints that were disabled by it.
    package func make(on connection: PostgresConnection) throws -> [(endpoint: String, cause: EndpointDisabling)] {
        var disabled: [(endpoint: String, cause: EndpointDisabling)] = []
        for (endpoint, cause) in disablings.sorted(by: { $0.key < $1.key })
        where try EndpointTable.disable(endpoint, because: cause, on: connection) {
            disabled.append((endpoint, cause))
        }
        if !pauses.isEmpty {
            try EndpointTable.pause(pauses, on: connection)
        }
        return disabled
    }
}
