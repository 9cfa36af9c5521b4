import Postgres
import Synchronization

/// The groups of the database that a process is connected to: read with its first connection, and the same from then on, but that one
/// Postgres may become a cluster while the process works with it.
package final class LaneGrouping: Sendable {
    private let state: Mutex<LaneGroups?>

    /// - Parameter groups: nil: as the database says.
    package init(_ groups: LaneGroups? = nil) {
        state = Mutex(groups)
    }

    /// Nil until they are read.
    package var known: LaneGroups? { state.withLock { $0 } }

    /// - Throws: `PostgresError` where they were not read before and cannot be read now.
    package func groups(on connection: PostgresConnection) throws -> LaneGroups {
        if let known {
            guard connection.isCluster else { return known }
            // As they lie now.
            guard known != connection.laneGroups else { return connection.laneGroups }
            // Its connections were ended when the tables were distributed, and the new ones know of it.
            if known.isOne {
                state.withLock { $0 = connection.laneGroups }
                return connection.laneGroups
            }
            // A transaction would span servers; all threads of the process have to begin anew.
            throw PostgresError(
                .configuration,
                "the cluster has other shards than when this process began to use it: restart this process")
        }
        let read = try LaneGroups.read(on: connection)
        return state.withLock { known in
            let groups = known ?? read
            known = groups
            return groups
        }
    }
}
