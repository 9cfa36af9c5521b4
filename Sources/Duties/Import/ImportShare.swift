import AppStoreAPI
import Base
import Database
import Postgres

/// How much of Apple's limit an import takes: what it shares with other imports of the app, and less while accounts wait for
/// Apple's answer. It is looked up again while the import runs. A rate that an operator named can only be less: every import
/// has a share, and counts as one.
package struct ImportShare {
    private let client: ServerAPIClient
    private var next = ContinuousClock.now

    private static let interval = Duration.seconds(2)
    /// Longer than one step of an import may wait for Apple.
    private static let stepTime = Duration.seconds(60)

    package init(_ client: ServerAPIClient) {
        self.client = client
    }

    /// Imports of the app that run now.
    package static func running(_ app: String, on connection: PostgresConnection) throws -> [Job] {
        try JobTable.driven(kind: ImportWork.name, within: stepTime, on: connection).filter {
            $0.parameters["app"] == .string(app)
        }
    }

    /// Now and then; between, nothing happens.
    ///
    /// - Parameter isJob: whether the import is one of those that run; a dry run is none, and takes what is left beside them.
    package mutating func renew(isJob: Bool, on connection: PostgresConnection) throws {
        guard ContinuousClock.now >= next else { return }
        let count = try ImportShare.running(client.app.id, on: connection).count
        for environment in client.app.environments {
            let accountsWait = try AccountLookTable.isDue(
                at: AppScope(app: client.app.id, environment: environment), on: connection)
            client.use(.imports(count: count, accountsWait: accountsWait || !isJob && count > 0), in: environment)
        }
        next = .now + ImportShare.interval
    }
}
