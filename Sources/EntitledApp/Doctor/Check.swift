import Base
import Daemon
import Postgres
import Schemas

/// One thing that the doctor looks at.
struct Check: Sendable {
    /// `section.what`.
    let name: String
    /// The role whose connection it needs; without that it is left out.
    let role: DatabaseRole?
    /// Longer than this it is not waited for.
    let limit: Duration
    let look: @Sendable (CheckContext) throws -> [Finding]

    init(
        _ name: String, as role: DatabaseRole? = nil, within limit: Duration = .seconds(20),
        _ look: @escaping @Sendable (CheckContext) throws -> [Finding]
    ) {
        self.name = name
        self.role = role
        self.limit = limit
        self.look = look
    }

    /// A check of what the database holds, on a connection of its own.
    init(
        _ name: String, reading role: DatabaseRole = .api,
        _ look: @escaping @Sendable (CheckContext, PostgresConnection) throws -> [Finding]
    ) {
        self.init(name, as: role) { context in try look(context, try context.connect(role)) }
    }

    /// What it finds. Whatever happens inside, this ends, and in time.
    func findings(_ context: CheckContext) -> [Finding] {
        let result = Monitor<[Finding]?>(nil)
        let look = look
        let thread = ServiceThread(orNil: "doctor") {
            let found: [Finding]
            do {
                found = try look(context)
            } catch {
                found = [Check.failure(error)]
            }
            result.change { $0 = found }
        }
        guard thread != nil else { return [.error("the system has no more threads", "close some connections")] }
        return result.wait(timeout: limit) { $0 }
            ?? [.error("no answer within \(limit.text)", "check whether the database or the network hangs")]
    }

    private static func failure(_ error: any Error) -> Finding {
        if let error = error as? PostgresError, error.isCancelled || error.isContention {
            return .warning(
                "the database did not answer within \(CheckContext.statementTimeout.text)",
                "repeat the check when the database is less busy")
        }
        return .error("could not be checked: \(error)", nil)
    }
}
