import AppStoreAPI
import Base
import Daemon
import Database
import Postgres

/// Background work of a worker's process, beside the lanes, on a thread and a connection of its own. Its state lives in
/// the duty, which only that thread uses.
///
/// `DutyService` starts, repeats and ends it. A duty checks `leadership` before it begins, and writes inside a
/// transaction of it; followers run too, where they report gauges.
package protocol Duty: SendableMetatype {
    /// As log lines name the service and Linux the thread.
    static var name: String { get }
    /// The log event of a run that failed.
    static var failure: StaticString { get }
    /// How long the first run waits, which lets the lanes find their owners.
    static var firstAfter: Duration { get }
    /// The rest after a run that failed, or that another worker has taken over.
    static var retryAfter: Duration { get }

    /// Does the next piece of work. What fails is logged by the service and tried again.
    mutating func run(_ run: DutyRun) throws -> Next

    /// Ends what waits for Apple; cancelled as the service begins to drain. Nil where nothing does.
    var cancellation: Cancellation? { get }

    /// Releases what the duty still holds, after its last run.
    mutating func finish(_ run: DutyRun) throws
}

extension Duty {
    package var cancellation: Cancellation? { nil }
    package mutating func finish(_ run: DutyRun) throws {}
}

/// What one run of a duty works with.
package struct DutyRun: Sendable {
    /// No connection: none is held while others than the database are waited for.
    package let session: PostgresSession
    package let leadership: Leadership
    /// Whether the process ends: what is long stops between two pieces.
    package let isDraining: @Sendable () -> Bool

    package init(
        session: PostgresSession, leadership: Leadership, isDraining: @escaping @Sendable () -> Bool = { false }
    ) {
        self.session = session
        self.leadership = leadership
        self.isDraining = isDraining
    }
}
