import Base
import Customers
import Daemon
import Database
import Postgres

/// Finishes deletions: those that the api wrote down, those whose command was cut off, and what was on its way when they
/// were made.
package struct DeletionDuty: Duty {
    package static let name = "deletions"
    package static let failure: StaticString = "customer erasure failed"
    package static let firstAfter = Duration.seconds(3)
    package static let retryAfter = Duration.seconds(3)

    private let erasure: CustomerErasure
    private static let rest = Duration.seconds(3)

    package init(erasure: CustomerErasure) {
        self.erasure = erasure
    }

    package func run(_ run: DutyRun) throws -> Next {
        let hasMore = try run.session.withConnection { connection in
            try run.leadership.isLeader(on: connection) && erasure.step(on: connection)
        }
        return hasMore ? .again : .after(DeletionDuty.rest)
    }
}
