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
    private let entitlements: Set<String>
    private let foldSettings: FoldSettings
    private let restoreSettings: RestoreSettings
    private let refundApps: Set<String>
    let keys: @Sendable () -> SecretSealer
    let clock: any WallClock
    let endpoints: EndpointRules

    /// Failures after which a change is given up. What passes by itself is not counted.
    package static let patience: Int64 = 5
    /// The last instant that documents can write: the end of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999
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
        case .bulkResend, .bulkGiveUp, .bulkReprocess, .customerResend, .customerGiveUp:
            return .refused("A change of many rows is done in steps.")
        }
    }

    func actions(_ change: Change) -> CustomerActions {
        CustomerActions(
            origin: ActionTable.Origin(actor: change.user, reason: change.reason), foldSettings: foldSettings)
    }

    private static func term(_ parameters: JSON) -> GrantTerm? {
        switch (parameters["duration"], parameters["until"]) {
        case (let duration?, nil):
            duration.stringValue.flatMap(GrantDuration.init(rawValue:)).map { .lasting($0) }
        case (nil, let until?): until.intValue.map { .until($0) }
        default: nil
        }
    }

    private func grant(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let entitlement = parameters["entitlement"]?.stringValue, entitlements.contains(entitlement) else {
            return .refused("The entitlement is not in the configuration of the worker.")
        }
        guard let term = ChangeWork.term(parameters) else {
            return .refused("The grant has neither a duration nor an end.")
        }
        let granting = try actions(change).grant(
            entitlement, to: change.target, term, makesCustomer: false, on: connection)
        return .done(
            .object([
                "entitlement": .string(entitlement), "original_transaction_id": .string(granting.grant.id),
                "expires_at": .date(granting.grant.end), "changed": .bool(granting.isNew),
                "events": .strings(granting.events),
            ]))
    }

    private func revoke(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding
    {
        guard let entitlement = parameters["entitlement"]?.stringValue else {
            return .refused("The change names no entitlement.")
        }
        let revocation = try actions(change).revoke(entitlement, from: change.target, on: connection)
        return .done(
            .object([
                "entitlement": .string(entitlement), "revoked": .strings(revocation.grants.map(\.id)),
                "changed": .bool(!revocation.grants.isEmpty), "events": .strings(revocation.events),
            ]))
    }

    private func note(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let text = parameters["text"]?.stringValue, !text.isEmpty,
            text.unicodeScalars.count <= CustomerNoteTable.longest
        else { return .refused("The note has no text, or one that is too long.") }
        let note = try actions(change).note(text, about: change.target, on: connection)
        return .done(.object(["note": .int(note.id)]))
    }

    private func removeNote(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let id = parameters["note"]?.intValue else { return .refused("The change names no note.") }
        let ids = try CustomerTable.load([change.target], on: connection)[change.target]?.appUserIDs ?? []
        switch try CustomerNoteTable.remove(id, of: ids, by: change.user, on: connection) {
        case .done: return .done(.object(["note": .int(id)]))
        case .notFound: return .refused("There is no such note.")
        case .othersNote(let author): return .refused("The note is \(author)'s.")
        }
    }

    /// The outcomes of these name no other customer: a deletion of theirs would not find it there.
    private func alias(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let other = parameters["alias"]?.stringValue else { return .refused("The change names no alias.") }
        let alias: CustomerActions.Alias
        do {
            alias = try actions(change).alias(
                change.target, other, makesOther: parameters["create"] == .bool(true), on: connection)
        } catch CustomerActions.Rejection.unknown(other) where other != change.target {
            return .refused("No customer has the other id.")
        }
        return .done(.object(["ids": .int(Int64(alias.appUserIDs.count)), "changed": .bool(alias.isNew)]))
    }

    private func transfer(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let to = parameters["to"]?.stringValue else { return .refused("The change names no other customer.") }
        let transfer: CustomerActions.Transfer
        do {
            transfer = try actions(change).transfer(
                from: change.target, to: to, only: parameters["purchase"]?.stringValue.map { [$0] } ?? [],
                makesCustomer: false, on: connection)
        } catch CustomerActions.Rejection.unknown(to) where to != change.target {
            return .refused("No customer has the other id.")
        }
        return .done(ChangeWork.moved(transfer))
    }

    private static func moved(_ transfer: CustomerActions.Transfer) -> JSON {
        .object([
            "purchases": .strings(transfer.purchases.map(\.originalTransactionID)),
            "changed": .bool(!transfer.purchases.isEmpty), "events": .strings(transfer.events),
        ])
    }

    private func claim(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let app = parameters["app"]?.stringValue, let id = parameters["purchase"]?.stringValue,
            let environment = parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return .refused("The change names no purchase.") }
        let claim = try actions(change).claim(
            PurchaseKey(app: app, environment: environment, originalTransactionID: id), by: change.target,
            settings: restoreSettings, makesCustomer: false, on: connection)
        switch claim {
        case .theirs: return .done(.object(["claim": .string("theirs"), "changed": .bool(false)]))
        case .joined(let alias):
            return .done(
                .object([
                    "claim": .string("joined"), "ids": .int(Int64(alias.appUserIDs.count)), "changed": .bool(true),
                ]))
        case .moved(let transfer):
            return .done(
                .object(
                    [JSON.Member(name: "claim", value: .string("moved"))] + (ChangeWork.moved(transfer).members ?? [])))
        }
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

    /// As the command does. The secret leaves this process sealed to the key of the one that asked: the console's role, which reads
    /// the job, has no use of it, and neither has a copy of the database.
    private func rotate(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding
    {
        guard let key = parameters[ChangeVersions.answerKey]?.stringValue.flatMap(Hex.decode),
            key.count == AnswerKey.size, let overlap = parameters["overlap"]?.intValue,
            (0...EndpointSecrets.overlapLimit.milliseconds).contains(overlap)
        else { return .refused("The change has no key for the answer, or no overlap of at most 30 days.") }
        let rotated: EndpointSecrets.Rotated?
        do {
            rotated = try EndpointSecrets.rotate(
                of: change.target, overlap: .milliseconds(overlap), sealer: keys(), now: clock.now(), on: connection)
        } catch let many as EndpointSecrets.TooMany {
            return .refused(
                "\(EndpointSecrets.limit) secrets of the endpoint are valid already, the first until"
                    + " \(Timestamp.text(many.firstEnd)); a shorter overlap ends the former ones earlier.")
        } catch let missing as SealingKeyRegister.Missing {
            return .refused("The worker cannot seal a secret: \(missing).")
        }
        guard let rotated else { return .refused("There is no endpoint \(change.target).") }
        guard
            let sealed = try? AnswerKey.seal(
                Array(rotated.secret.text.utf8), to: key, context: change.sealingContext)
            // What was rotated is rolled back with it.
        else { throw NoAnswerKey() }
        return .done(
            .object([
                "endpoint": .string(change.target), "former_secrets_end_at": .date(rotated.formerEnd),
                "public_key": .text(rotated.publicKey.map(WebhookPublicKey.text)),
                Change.sealed: .string(Hex.encode(sealed)),
            ]))
    }

    /// The key for an answer is one to which nothing can be sealed.
    struct NoAnswerKey: Error, CustomStringConvertible {
        let description = "the key for the answer is not one of X25519"
    }

    private func resend(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let id = DeliveryID(text: change.target) else { return .refused("The target is no id of a delivery.") }
        switch try DeliveryRepair.resend(id, now: clock.now(), on: connection) {
        case .reopened: return .done(.object(["state": .string("pending")]))
        case .blocked: return .done(.object(["state": .string("blocked")]))
        case .notFound: return .refused("There is no delivery \(id.text).")
        case .endpointDisabled(let reason):
            return .refused("The endpoint of the delivery is disabled or removed (\(reason)).")
        case .gone(let reason): return .refused("The delivery cannot be sent any more: \(reason).")
        }
    }

    private func resendEvent(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let id = UUIDText.bytes(change.target), let event = try EventQuery.find(id, on: connection).first else {
            return .refused("There is no event \(change.target).")
        }
        let endpoint = parameters["endpoint"]?.stringValue
        switch try EventRepair.resend(event, to: endpoint, now: clock.now(), on: connection) {
        case .notFound: return .refused("There is no event \(change.target).")
        case .gone: return .refused("The event is too old: its body is not kept any more.")
        case .done(let sent, let skipped):
            guard !sent.isEmpty else {
                let reasons = skipped.map { "\($0.endpoint): \($0.reason)" }.joined(separator: "; ")
                return .refused(
                    skipped.isEmpty
                        ? endpoint.map { "There is no endpoint \($0)." } ?? "No endpoint takes this event."
                        : "No endpoint can have it: \(reasons).")
            }
            return .done(
                .object([
                    "sent": .array(
                        sent.map {
                            .object([
                                "endpoint": .string($0.endpoint), "delivery": .string($0.delivery.text),
                                "state": .string($0.isBlocked ? "blocked" : "pending"),
                            ])
                        }),
                    "skipped": .array(
                        skipped.map { .object(["endpoint": .string($0.endpoint), "reason": .string($0.reason)]) }),
                ]))
        }
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

    private func reprocess(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let app = parameters["app"]?.stringValue,
            let environment = parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return .refused("The change names no app and environment.") }
        let outcome = try NotificationRepair.reprocess(
            uuid: change.target, app: app, environment: environment, on: connection)
        switch outcome {
        case .queued: return .done(.object(["state": .string("pending")]))
        case .notFound, .ambiguous:
            return .refused("There is no notification \(change.target) of \(app) in \(environment.rawValue).")
        case .dropped(let received):
            return .refused("The notification came \(Timestamp.text(received)) and is not kept any more.")
        }
    }

    /// The worker's lanes hold or release the deliveries, as after the command.
    private func steer(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        let isThere: Bool
        switch change.kind {
        case .endpointEnable: isThere = try EndpointTable.enable(change.target, on: connection)
        case .endpointDisable:
            isThere = try EndpointTable.disable(
                change.target, reason: EndpointDisabling.byOperator.text, on: connection)
        default:
            guard let until = parameters["until"]?.intValue else { return .refused("The pause has no end.") }
            guard (0...ChangeWork.latest).contains(until) else {
                return .refused("The pause ends at no time between 1970 and the year 9999.")
            }
            isThere = try EndpointTable.pause(change.target, until: until, on: connection)
        }
        guard isThere else { return .refused("There is no endpoint \(change.target).") }
        return .done(.object(["endpoint": .string(change.target)]))
    }
}
