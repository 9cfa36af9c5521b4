import Base
import Daemon
import Database
import Postgres

/// Watches the servers of the cluster over which the tables are distributed, for the metrics. On one Postgres it does nothing.
///
/// Every worker does it: the server of the first lane, and with it the leader, may be the one that is away.
package struct ClusterDuty: Duty {
    package static let name = "cluster"
    package static let failure: StaticString = "cluster servers not examined"
    package static let firstAfter = Duration.seconds(1)
    package static let retryAfter = Duration.seconds(15)

    private enum State: String, CaseIterable {
        case up, away, disabled
    }

    private static let metrics: [Metric] = [
        .clusterServers, .clusterShards, .clusterBytes, .clusterPreparedLeft, .clusterPreparedSeconds, .clusterPrepares,
    ]

    private let logger: Logger
    private let metrics: Metrics
    /// The servers that were there last, by their names.
    private var states: [String: State] = [:]

    package init(logger: Logger, metrics: Metrics) {
        self.logger = logger
        self.metrics = metrics
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        try run.session.withConnection { connection in
            let members = try ClusterMember.list(on: connection)
            if Set(members.map(\.name)) != Set(states.keys) { begin(members) }
            for member in members {
                let answer = member.isActive ? try member.ask(on: connection) : nil
                // Then the process ended the wait, and not the server.
                guard !run.isDraining() else { return }
                report(member, answer)
            }
            guard !members.isEmpty else { return }
            metrics.total(.clusterPrepares, Double(try ClusterMember.prepares(on: connection)))
        }
        return .after(ClusterDuty.retryAfter)
    }

    /// What was said of servers that are not there any more is not said on.
    private mutating func begin(_ members: [ClusterMember]) {
        ClusterDuty.metrics.forEach(metrics.remove)
        states = states.filter { name, _ in members.contains { $0.name == name } }
    }

    private mutating func report(_ member: ClusterMember, _ answer: ClusterMember.Answer?) {
        let state: State = !member.isActive ? .disabled : answer == nil ? .away : .up
        let former = states.updateValue(state, forKey: member.name)
        if state == .away, former != .away {
            logger.warning(
                "cluster server away", ["server": .string(member.name), "shards": .int(member.shards)])
        } else if state == .up, former == .away {
            logger.notice("cluster server back", ["server": .string(member.name), "shards": .int(member.shards)])
        }
        let labels = ["server": member.name]
        for one in State.allCases {
            metrics.gauge(
                .clusterServers, one == state ? 1 : 0, ["server": member.name, "state": one.rawValue])
        }
        metrics.gauge(.clusterShards, Double(member.shards), labels)
        // One that is away may still have what it had.
        guard let answer else { return }
        metrics.gauge(.clusterBytes, Double(answer.bytes), labels)
        metrics.gauge(.clusterPreparedLeft, Double(answer.prepared?.leftOver ?? 0), labels)
        metrics.gauge(.clusterPreparedSeconds, Double(answer.prepared?.age ?? 0) / 1000, labels)
    }
}
