import Base
import Daemon
import Postgres

/// Keeps retention going, one run after the other.
package struct RetentionDuty: Duty {
    package static let name = "retention"
    package static let failure: StaticString = "retention run failed"
    package static let firstAfter = Duration.seconds(2)
    package static let retryAfter = Duration.seconds(60)

    private var retention: RetentionRun

    private static let shortRest = Duration.seconds(5)
    private static let longRest = Duration.seconds(60)

    package init(_ retention: RetentionRun) {
        self.retention = retention
    }

    package mutating func run(_ run: DutyRun) throws -> Next {
        let hasMore = try run.session.withConnection { connection in
            try retention.take(run.leadership, on: connection, isDraining: run.isDraining)
        }
        return .after(hasMore ? RetentionDuty.shortRest : RetentionDuty.longRest)
    }
}
