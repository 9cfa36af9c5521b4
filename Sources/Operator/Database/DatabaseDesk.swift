import Base
import Customers
import Database
import HTTP
import Postgres
import Subscriptions
import Worker

/// The parts of the configuration that answers depend on.
package struct DeskSettings: Sendable {
    /// Of the configuration.
    package var scopes: [AppScope]
    package var foldSettings: FoldSettings
    package var catalogue: EntitlementCatalogue
    package var sandboxRule: SandboxRule
    /// As the workers'.
    package var expiryPatience: Duration
    package var lease: Duration
    package var healthPolicy: HealthPolicy
    package var retrySchedule: RetrySchedule
    package var charts = ChartSettings()
    /// Nil: no reports are counted.
    package var reports: ReportReader?
    /// One for all questions.
    let tables = TableGate()
    package var catalogueCheck: CatalogueCheck
    /// Apps whose questions about refunds workers answer, and those of which Apple can be asked.
    package var refundApps: Set<String> = []
    package var serverAPIApps: Set<String> = []
    /// Which URLs endpoints may have.
    package var webhookAddress = WebhookAddress()
    /// What deletions do unless something else is asked for.
    package var deletion = DeletionPolicy.pseudonymise
    package var memory = DeskMemory()
    /// What is in force, for operators to read.
    package var inForce: [ShownSetting] = []

    /// Ids of the configured apps.
    package var apps: [String] {
        scopes.reduce(into: []) { apps, scope in if !apps.contains(scope.app) { apps.append(scope.app) } }
    }

    package init(
        scopes: [AppScope] = [], foldSettings: FoldSettings = FoldSettings(),
        catalogue: EntitlementCatalogue = EntitlementCatalogue([:]), sandboxRule: SandboxRule = .all,
        expiryPatience: Duration = .seconds(86_400), lease: Duration = .seconds(15),
        healthPolicy: HealthPolicy = HealthPolicy(disableAfter: nil), retrySchedule: RetrySchedule
    ) {
        self.scopes = scopes
        self.foldSettings = foldSettings
        self.catalogue = catalogue
        self.sandboxRule = sandboxRule
        self.expiryPatience = expiryPatience
        self.lease = lease
        self.healthPolicy = healthPolicy
        self.retrySchedule = retrySchedule
        catalogueCheck = CatalogueCheck(entitlements: catalogue, offerings: OfferingCatalogue())
    }
}

/// Answers questions from the database, on a connection that no other question has meanwhile.
package struct DatabaseDesk: Desk {
    package let viewer: Viewer
    let settings: DeskSettings
    let connection: PostgresConnection
    /// ms since 1970.
    let now: Int64

    package init(_ settings: DeskSettings, for viewer: Viewer, now: Int64, on connection: PostgresConnection) {
        self.settings = settings
        self.viewer = viewer
        self.now = now
        self.connection = connection
    }

    private static let snapshot = PostgresStatement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    /// Asks a desk within one snapshot of the database, in which nothing can be written.
    package static func ask<Answer>(
        _ settings: DeskSettings, for viewer: Viewer, now: Int64, on connection: PostgresConnection,
        _ body: (DatabaseDesk) throws -> Answer
    ) throws -> Answer {
        try connection.transaction(opening: [snapshot]) { _ in
            try body(DatabaseDesk(settings, for: viewer, now: now, on: connection))
        }
    }

    // MARK: - Customers by any id

    /// The customer whom an id names.
    ///
    /// - Throws: `DeskError` where it names none, or several.
    func resolve(_ id: String, field: String? = nil) throws -> ResolvedID {
        guard !id.isEmpty, id.utf8.count <= 1024, !id.utf8.contains(0) else {
            throw DeskError.badRequest("The id of a customer has from 1 to 1024 bytes.", field: field)
        }
        let resolved = try CustomerQuery.resolve(id, on: connection)
        guard resolved.appUserID == nil else { return resolved }
        let given = resolved.given
        // Candidates are customers, of whom nothing is told to a role that does not see them.
        guard viewer.may(.customers) else { throw DeskError.notFound("No customer has the id \(given).", field: field) }
        if resolved.owners.count > 1 {
            let owners = resolved.owners.map(\.id).joined(separator: ", ")
            throw DeskError.notFound(
                "\(given) is a purchase of \(resolved.owners.count) customers: \(owners); name one of them.",
                field: field)
        }
        let near = (resolved.spellings + resolved.owners).map(\.id)
        throw DeskError.notFound(
            near.isEmpty
                ? "No customer has the id \(given)."
                : "\(given) names no single customer; similar ids are: \(near.joined(separator: ", ")).", field: field)
    }

    /// The ids of a customer who is given by any id.
    func appUserIDs(of id: String, field: String? = nil) throws -> [String] {
        let found = try resolve(id, field: field).appUserID ?? id
        return try CustomerTable.load([found], on: connection)[found]?.appUserIDs ?? [found]
    }
}
