import Base
import Crypto
import Customers
import Daemon
import Database
import Postgres
import Subscriptions

/// Does what operators asked for, by the functions of the commands.
///
/// A change, its outcome and its entry in the audit are one transaction, which holds the change's row: it is done once,
/// whichever workers look for it, and wherever one is killed.
package struct ChangeWork: Sendable {
    /// Those of the configuration.
    let entitlements: Set<String>
    private let foldSettings: FoldSettings
    let restoreSettings: RestoreSettings
    private let refundApps: Set<String>
    let keys: @Sendable () -> SecretSealer
    let clock: any WallClock
    let endpoints: EndpointRules

    /// Failures after which a change is given up. What passes by itself is not counted.
    package static let patience: Int64 = 5
    /// The last instant that documents can write: the end of the year 9999.
    static let latest: Int64 = 253_402_300_799_999
    /// After so many ms of meeting other transactions a change is given up: those of its target wait for it.
    package static let lockPatience: Int64 = 600_000

    /// - Parameters:
    ///   - entitlements: those that can be granted.
    ///   - refundApps: apps whose questions about refunds workers answer.
    ///   - keys: which seal the secrets of endpoints.
    ///   - endpoints: what endpoints may be.
    package init(
        entitlements: Set<String>, foldSettings: FoldSettings,
        restoreSettings: RestoreSettings = RestoreSettings(general: .transfer), refundApps: Set<String> = [],
        keys: @escaping @Sendable () -> SecretSealer = { SecretSealer(keys: []) },
        endpoints: EndpointRules = EndpointRules(), clock: any WallClock
    ) {
        (self.refundApps, self.keys) = (refundApps, keys)
        self.endpoints = endpoints
        self.entitlements = entitlements
        self.restoreSettings = restoreSettings
        self.foldSettings = foldSettings
        self.clock = clock
    }

    /// A change that is over.
    package struct Ended: Sendable, Equatable {
        package let job: Int64
        package let kind: ChangeKind
        package let user: String
        package let ending: ChangeEnding
    }

    /// Does the next change; nil: none is due, or it is tried again.
    ///
    /// - Parameter isDraining: whether the worker is about to end; what fails then says nothing about the change.
    /// - Throws: what says nothing about the change, such as a lost connection: the same change is next.
    package func next(
        on connection: PostgresConnection, isDraining: () -> Bool = { false }
    ) throws -> Ended? {
        var taken: Change?
        do {
            let ended = try connection.transaction { () throws -> Ended? in
                taken = try ChangeTable.take(on: connection)
                guard let change = taken else { return nil }
                let fate = try fate(of: change, on: connection)
                guard fate == .present else {
                    let ended = try end(change, .refused(ChangeWork.deleted), on: connection)
                    if fate == .swept { try ChangeRedaction.forget(change, on: connection) }
                    return ended
                }
                return try end(change, try carryOut(change, on: connection), on: connection)
            }
            if ended != nil { FailPoint.changeAfterCommit.pass() }
            return ended
        } catch {
            guard let change = taken, !isDraining(), (error as? PostgresError)?.kind != .connection else { throw error }
            // What the change wrote was rolled back.
            return try connection.transaction { try afterFailure(of: change, error, on: connection) }
        }
    }

    private func afterFailure(
        of taken: Change, _ error: any Error, on connection: PostgresConnection
    ) throws -> Ended? {
        _ = try connection.query("SELECT \(Durability.setting)")
        guard let change = try ChangeTable.take(taken.id, on: connection) else { return nil }
        // The deletion of a customer puts a pseudonym in; the error still names the customer.
        guard change.target == taken.target else {
            return try end(change, .refused(ChangeWork.deleted), on: connection)
        }
        if ChangeWork.meetsOthers(error) {
            guard try ChangeTable.postpone(change, on: connection) >= ChangeWork.lockPatience else { return nil }
            return try end(
                change,
                .failed("Another transaction held the same rows for 10 minutes (\(error)); the change is given up."),
                on: connection)
        }
        if let rejection = error as? CustomerActions.Rejection {
            return try end(change, .refused("The change was refused: \(rejection)."), on: connection)
        }
        let failures = try ChangeTable.countFailure(of: change, on: connection)
        guard failures >= ChangeWork.patience else { return nil }
        return try end(
            change, .failed("The change failed \(failures) times (\(error)) and is given up."), on: connection)
    }

    private func fate(of change: Change, on connection: PostgresConnection) throws -> DeletionTable.Fate {
        guard change.kind.targetClass == .customer else { return .present }
        return try DeletionTable.fate(ofTargetOf: change, on: connection)
    }

    static let deleted = "The customer was deleted; the change was asked for before, or at the same time."

    private func end(
        _ change: Change, _ ending: ChangeEnding, on connection: PostgresConnection
    ) throws -> Ended {
        try ChangeTable.end(change, ending, on: connection)
        FailPoint.changeBeforeCommit.pass()
        return Ended(job: change.id, kind: change.kind, user: change.user, ending: ending)
    }

    /// Whether another transaction was at the same rows.
    private static func meetsOthers(_ error: any Error) -> Bool {
        if let rejection = error as? CustomerActions.Rejection { return rejection == .busy }
        return (error as? PostgresError)?.isContention ?? false
    }

    // MARK: - Each kind

    /// Why the operator may not do this now; nil: they may.
    static func objection(to change: Change, on connection: PostgresConnection) throws -> String? {
        guard let role = try ChangeTable.role(of: change, on: connection) else {
            return "The operator \(change.user) was removed, or the key has ended."
        }
        guard !change.kind.roles.contains(role) else { return nil }
        let needs = OperatorRole.allCases.filter(change.kind.roles.contains).map(\.rawValue)
        return "The role \(role.rawValue) may not do this; it needs one of: \(needs.joined(separator: ", "))."
    }

    /// Whether a change that was shown before concerns other rows now, or rows that are not as they were.
    static func isChanged(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> Bool {
        guard let digest = parameters[ChangeVersions.member]?.stringValue else { return false }
        let now = try ChangeVersions.digest(change.kind, change.target, parameters, on: connection)
        return Hex.encode(now) != digest
    }

    private func carryOut(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        if let objection = try ChangeWork.objection(to: change, on: connection) { return .refused(objection) }
        guard let parameters = try? JSON(parsing: Array(change.parameters.utf8)) else {
            return .refused("The parameters of the change are no JSON.")
        }
        guard try !ChangeWork.isChanged(change, parameters, on: connection) else {
            return .refused(ChangeVersions.changed)
        }
        if let other = (parameters["to"] ?? parameters["alias"])?.stringValue,
            try DeletionTable.fate(of: other, since: change, on: connection) != .present
        {
            try ChangeRedaction.forgetHash(of: change, on: connection)
            return .refused(ChangeWork.deleted)
        }
        switch change.kind {
        case .grant: return try grant(change, parameters, on: connection)
        case .revoke: return try revoke(change, parameters, on: connection)
        case .resend: return try resend(change, on: connection)
        case .eventResend: return try resendEvent(change, parameters, on: connection)
        case .reprocess: return try reprocess(change, parameters, on: connection)
        case .endpointEnable, .endpointDisable, .endpointPause:
            return try steer(change, parameters, on: connection)
        case .jobCancel: return try cancel(change, on: connection)
        case .note: return try note(change, parameters, on: connection)
        case .noteRemove: return try removeNote(change, parameters, on: connection)
        case .alias: return try alias(change, parameters, on: connection)
        case .transfer: return try transfer(change, parameters, on: connection)
        case .claim: return try claim(change, parameters, on: connection)
        case .refundAnswer: return try answerRefund(change, parameters, on: connection)
        case .endpointRotateSecret: return try rotate(change, parameters, on: connection)
        case .endpointAdd: return try addEndpoint(change, parameters, on: connection)
        case .endpointChange: return try changeEndpoint(change, parameters, on: connection)
        case .endpointRemove: return try removeEndpoint(change, on: connection)
        case .endpointTest: return try testEndpoint(change, on: connection)
        case .customerDelete: return try deleteCustomer(change, parameters, on: connection)
        case .purchaseExtend: return .refused("Apple does this change, which another duty asks for.")
        case .statusPoll, .orderLookup: return .refused("Another duty asks Apple.")
        case .bulkResend, .bulkGiveUp, .bulkReprocess, .customerResend, .customerGiveUp, .replayWebhooks,
            .replayHistory, .outageLook, .bulkGrant:
            return .refused("A change of many rows is done in steps.")
        }
    }

    func actions(_ change: Change) -> CustomerActions {
        CustomerActions(
            origin: ActionTable.Origin(actor: change.user, reason: change.reason), foldSettings: foldSettings)
    }

    /// As the command does; a worker sends the answer to Apple.
    private func answerRefund(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let purchase = ChangeWork.purchase(change.target, parameters),
            let transaction = parameters["transaction"]?.stringValue,
            let answer = parameters["answer"].flatMap({ RefundAnswer($0.text) })
        else { return .refused("The change names no question, or no answer.") }
        // What the console did not check: another program may have written the change as its role.
        guard RefundAnswerForm.allows(answer) else { return .refused("Apple takes no such answer.") }
        guard try !ChangeTable.isRedacted(change, on: connection) else { return .refused(ChangeWork.deleted) }
        guard refundApps.contains(purchase.app) else {
            return .refused(
                "No worker answers questions about refunds of this app: it needs refunds.policy and server_api in the"
                    + " configuration.")
        }
        let key = RefundRequestSummary.Key(purchase: purchase, transactionID: transaction)
        guard let request = try RefundRequestTable.find(key, on: connection) else {
            return .refused("Apple has asked no question about this transaction.")
        }
        if let objection = try RefundRequestTable.answer(request, answer, by: change.user, on: connection) {
            return .refused("The question cannot be answered any more: \(objection).")
        }
        return .done(
            .object([
                "state": .string(RefundRequest.State.ready.rawValue), "transaction_id": .string(transaction),
                "preference": .text(answer.preference), "deadline": .date(request.deadline),
            ]))
    }

    /// The purchase of a change that is about one.
    static func purchase(_ id: String, _ parameters: JSON) -> PurchaseKey? {
        guard let app = parameters["app"]?.stringValue,
            let environment = parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return nil }
        return PurchaseKey(app: app, environment: environment, originalTransactionID: id)
    }

    /// Waits for the step of the job that is being taken.
    private func cancel(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let id = Int64(change.target), let job = try JobTable.find(id, on: connection) else {
            return .refused("There is no job \(change.target).")
        }
        let isOperator = try ChangeTable.role(of: change, on: connection) == .operator
        guard let kind = ChangeKind(rawValue: job.kind) else {
            guard isOperator else { return .refused("Only the role operator cancels this job.") }
            guard let ended = try JobTable.cancel(id, on: connection) else { return .refused(ChangeWork.over(job)) }
            return .done(ChangeWork.counts(ended))
        }
        guard kind.isBulk else { return .refused("A change of one step cannot be cancelled: it ends by itself.") }
        guard
            try isOperator
                || (job.madeBy == change.user && ConsoleUserTable.isSame(change.user, as: job.created, on: connection))
        else { return .refused("The job is another operator's.") }
        if kind == .bulkGrant, let granting = try ChangeTable.take(id, on: connection),
            try DeletionTable.isAnySince(granting, on: connection)
        {
            try ChangeRedaction.forgetHash(of: granting, on: connection)
        }
        guard let held = try ChangeTable.cancel(id, by: change.user, on: connection) else {
            return .refused(ChangeWork.over(try JobTable.find(id, on: connection) ?? job))
        }
        return .done(ChangeWork.counts(held))
    }

    private static func over(_ job: Job) -> String { "The job has ended already: \(job.state.rawValue)." }

    private static func counts(_ job: Job) -> JSON {
        .object([
            "matched": .int(job.counts.matched), "queued": .int(job.counts.queued),
            "skipped": .int(job.counts.skipped),
        ])
    }
}
