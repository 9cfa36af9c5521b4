import AppStore
import Base
import Customers
import Database
import Ingest
import Postgres
import Subscriptions

/// What keeping something that an app posted needs.
package struct PostingSettings: Sendable {
    let apps: AppRegistry
    let admission: TransactionAdmission
    let lookup: AppleLookup
    let actions: CustomerActions
    let sequence: SequenceGenerator
    let clock: any WallClock
    let restoring: RestoreSettings

    package init(
        apps: AppRegistry, admission: TransactionAdmission, lookup: AppleLookup, actions: CustomerActions,
        sequence: SequenceGenerator, clock: any WallClock, restoring: RestoreSettings
    ) {
        self.apps = apps
        self.admission = admission
        self.lookup = lookup
        self.actions = actions
        self.sequence = sequence
        self.clock = clock
        self.restoring = restoring
    }

    /// What Apple signed, as it is kept; nil where it lacks what a transaction cannot do without.
    func posted(
        _ admitted: TransactionAdmission.Admitted, context: (TransactionFact) -> TransactionContext? = { _ in nil }
    ) -> CustomerActions.Posted? {
        guard let fact = TransactionFact(admitted.payload, tie: admitted.jws.payload) else { return nil }
        return CustomerActions.Posted(
            key: admitted.key, transaction: fact, entry: admitted.entry, context: context(fact))
    }

    /// Waits until these are applied. What is held instead may be let go later: the next request finds it then.
    func whenApplied(
        _ places: [LogPosition], then next: @escaping @Sendable (APICall) throws -> APIAnswer
    ) -> APIAnswer {
        .whenApplied(places) { call in
            let held = try HeldNotifications.isAnyHeld(places, on: call.connection)
            guard !held else {
                throw APIError.unavailable("The transaction is stored but held until an operator decides.")
            }
            return try next(call)
        }
    }
}
