import Base
import Customers
import Database
import Subscriptions

extension DatabaseDesk {
    /// What a change would come to now.
    func effect(_ kind: ChangeKind, _ target: String, _ parameters: JSON) throws -> ChangeEffect {
        switch kind {
        case .grant: return try granting(target, parameters)
        case .revoke: return try revoking(target, parameters)
        case .resend: return try resending(target)
        case .eventResend: return try resending(event: target, to: parameters["endpoint"]?.stringValue)
        case .reprocess: return try reprocessing(target, parameters)
        case .endpointEnable, .endpointDisable, .endpointPause: return try steering(kind, target, parameters)
        case .jobCancel: return try cancelling(target)
        case .note:
            var effect = ChangeEffect()
            effect.after = .object(["text": parameters["text"] ?? .null])
            return effect
        case .noteRemove: return try removingNote(target, parameters)
        case .alias: return try joining(target, parameters)
        case .transfer: return try moving(target, parameters)
        case .claim: return try claiming(target, parameters)
        case .endpointRotateSecret: return try rotating(target, parameters)
        case .endpointAdd: return try adding(parameters)
        case .endpointChange: return try changing(target, parameters)
        case .endpointRemove: return try removing(target)
        case .endpointTest: return try testing(target)
        case .customerDelete: return try deleting(target, parameters)
        case .refundAnswer: return try answering(target, parameters)
        case .purchaseExtend: return try extending(target, parameters)
        case .statusPoll: return try polling(target, parameters)
        case .orderLookup: return lookingUp(target, parameters)
        case .bulkResend, .bulkGiveUp, .bulkReprocess, .customerResend, .customerGiveUp:
            return try counting(kind, target, parameters)
        case .replayWebhooks: return try replaying(parameters)
        case .replayHistory, .outageLook: return try rereading(parameters)
        case .bulkGrant: return try granting(toMany: parameters)
        }
    }

    // MARK: - Customers

    private func explained(_ profile: CustomerProfile, _ purchases: [Purchase], _ entitlement: String) -> JSON {
        let explanation = CustomerExplanation(
            profile, purchases, catalogue: settings.catalogue, sandboxRule: settings.sandboxRule, now: now)
        return explanation.entitlements.first { $0.name == entitlement }?.json ?? .null
    }

    /// The fold of a grant's versions.
    private func folded(_ versions: [Grant]) -> Purchase? {
        var facts = PurchaseFacts()
        for version in versions { FactRow(version).insert(into: &facts) }
        return versions.first.flatMap { Purchase(folding: facts, key: $0.key) }
    }

    private func webhooks(_ drafts: [EventDraft], app: String, _ environment: StoreEnvironment) throws
        -> [ChangePreview.Webhooks]
    {
        try webhooks(drafts.map(\.type.rawValue), app: app, environment)
    }

    private func webhooks(_ types: [String], app: String, _ environment: StoreEnvironment) throws
        -> [ChangePreview.Webhooks]
    {
        let endpoints = try EndpointTable.list(on: connection)
        return types.map { type in
            let takers = endpoints.filter {
                $0.format == .revenuecat && !$0.isOperations && $0.wants(type: type, app: app, environment: environment)
            }
            return ChangePreview.Webhooks(
                type: type, endpoints: takers.filter { $0.disabledReason == nil }.map(\.id),
                held: takers.filter { $0.disabledReason != nil }.map(\.id))
        }
    }

    private func granting(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let customer = try customer(target)
        let entitlement = parameters["entitlement"]?.stringValue ?? ""
        let term = DatabaseDesk.term(parameters)
        var effect = ChangeEffect()
        effect.before = explained(customer.profile, customer.purchases, entitlement)
        effect.after = effect.before
        guard let term, term.objection(now: now) == nil else {
            effect.refusal = "The grant \(term?.objection(now: now) ?? "has neither a duration nor an end")."
            return effect
        }
        // The same again within two hours is a repetition.
        if customer.purchases.compactMap({ Grant($0) }).contains(where: {
            term.isRepetition(of: $0, entitlement, now: now)
        }) {
            return effect
        }
        let (made, webhooks) = try webhooks(of: entitlement, term)
        guard let purchase = made else { return effect }
        effect.after = explained(customer.profile, customer.purchases + [purchase], entitlement)
        effect.webhooks = webhooks
        return effect
    }

    /// The customers as they are now; those who got the same shortly before are found when it is done.
    private func granting(toMany parameters: JSON) throws -> ChangeEffect {
        guard let bulk = BulkSelection(json: parameters).flatMap(CustomerBulk.init),
            let entitlement = parameters["entitlement"]?.stringValue, let term = DatabaseDesk.term(parameters)
        else { throw DeskError.badRequest("The selection cannot be read.") }
        var rows = BulkPreview()
        var seen = Set<String>()
        let page = try bulk.page(after: [], salt: 0, limit: CustomerBulk.most, on: connection)
        let roots = try CustomerTable.roots(of: page.rows, on: connection)
        for (id, root) in zip(page.rows, roots) {
            let skip: BulkSkip? =
                root.map { seen.insert($0.originalAppUserID).inserted ? nil : .sameCustomer } ?? .unknown
            rows.add(skip, endpoint: nil, .object(["id": .string(id), "type": .string(entitlement)]))
        }
        rows.isComplete = true
        var effect = ChangeEffect()
        effect.rows = rows
        effect.after = .object(["entitlement": .string(entitlement), "ends_at": .date(term.end(now: now))])
        if let objection = term.objection(now: now) {
            effect.refusal = "The grant \(objection)."
        } else if rows.wouldQueue > 0 {
            effect.webhooks = try webhooks(of: entitlement, term).webhooks
        }
        return effect
    }

    private static func term(_ parameters: JSON) -> GrantTerm? {
        parameters["until"]?.intValue.map { .until($0) }
            ?? parameters["duration"]?.stringValue.flatMap(GrantDuration.init(rawValue:)).map { .lasting($0) }
    }

    /// A grant as it would be made now, and which webhooks go to whom.
    private func webhooks(
        of entitlement: String, _ term: GrantTerm
    ) throws -> (purchase: Purchase?, webhooks: [ChangePreview.Webhooks]) {
        let grant = Grant(
            id: String(repeating: "0", count: 32), entitlement: entitlement, product: term.product(of: entitlement),
            start: now, end: term.end(now: now), at: now, action: 0)
        guard let purchase = folded([grant]) else { return (nil, []) }
        let drafts = EventDeriver().events(before: nil, after: purchase, cause: .action(0), now: now)
        return (purchase, try webhooks(drafts, app: Grant.app, .production))
    }

    private func revoking(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let customer = try customer(target)
        let entitlement = parameters["entitlement"]?.stringValue ?? ""
        var effect = ChangeEffect()
        effect.before = explained(customer.profile, customer.purchases, entitlement)
        var (after, drafts) = (customer.purchases, [EventDraft]())
        for (place, purchase) in customer.purchases.enumerated() {
            guard let grant = Grant(purchase), grant.entitlement == entitlement, grant.isRunning(at: now),
                let ended = folded([grant, grant.revoked(at: now, action: 0)])
            else { continue }
            after[place] = ended
            drafts += EventDeriver().events(before: purchase, after: ended, cause: .action(0), now: now)
        }
        effect.after = explained(customer.profile, after, entitlement)
        effect.webhooks = try webhooks(drafts, app: Grant.app, .production)
        return effect
    }

    private func removingNote(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        var effect = ChangeEffect()
        let note = try parameters["note"]?.intValue.flatMap {
            try CustomerNoteTable.find($0, of: try appUserIDs(of: target), on: connection)
        }
        effect.before = note?.json ?? .null
        if let note, note.author != viewer.user { effect.refusal = "The note is \(note.author)'s." }
        return effect
    }

    private func joining(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let (ids, other) = (try appUserIDs(of: target), parameters["alias"]?.stringValue ?? "")
        let others = try CustomerTable.load([other], on: connection)[other]?.appUserIDs ?? []
        var effect = ChangeEffect()
        effect.before = .object(["ids": .strings(ids), "ids_of_the_other": .strings(others)])
        effect.after = .object(["ids": .strings(ids + (others.isEmpty ? [other] : others).filter { !ids.contains($0) })]
        )
        return effect
    }

    /// Ids of purchases that a preview lists; it counts all.
    private static let mostListed = 100

    /// Purchases as a preview shows them: how many there are, and some of them.
    private static func listed(_ ids: [String], of count: CappedCount, owner: JSON) -> JSON {
        let shown = ids.prefix(mostListed)
        return .object([
            "owner": owner, "purchase_count": count.json, "purchases": .strings(Array(shown)),
            "is_cut": .bool(count.isCapped || count.value > Int64(shown.count)),
        ])
    }

    private func moving(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let (from, to) = (try customer(target), try appUserIDs(of: parameters["to"]?.stringValue ?? "", field: "to"))
        let only = parameters["purchase"]?.stringValue
        let (moved, count) = try PurchaseQuery.bought(
            by: from.profile.appUserIDs, only: only, atMost: DatabaseDesk.mostListed, countedTo: CappedCount.cap,
            on: connection)
        var effect = ChangeEffect()
        effect.before = .object(["owner": .string(from.profile.originalAppUserID)])
        effect.after = effect.before
        guard !to.contains(target) else {
            effect.refusal = "Both ids name the same customer."
            return effect
        }
        guard !moved.isEmpty else {
            effect.refusal = only.map { "The customer has no purchase \($0)." } ?? "There is no purchase to move."
            return effect
        }
        let ids = moved.map(\.originalTransactionID)
        effect.before = DatabaseDesk.listed(ids, of: CappedCount(count), owner: .string(from.profile.originalAppUserID))
        effect.after = DatabaseDesk.listed(ids, of: CappedCount(count), owner: parameters["to"] ?? .null)
        let scopes = try PurchaseQuery.scopes(of: from.profile.appUserIDs, only: only, on: connection)
        effect.webhooks = try scopes.flatMap {
            try webhooks([EventType.transfer.rawValue], app: $0.app, $0.environment)
        }
        return effect
    }

    /// What follows is decided by the owner's settings, and is told when it was done: it concerns the purchase, and all else that the
    /// same Apple account bought and that its owner has.
    private func claiming(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let purchase = try purchase(
            PurchaseKey(
                app: parameters["app"]?.stringValue ?? "", environment: environment(parameters),
                originalTransactionID: parameters["purchase"]?.stringValue ?? ""))
        let key = purchase.row.purchase.key
        let together = try PurchaseQuery.boughtTogether(
            with: key, atMost: DatabaseDesk.mostListed, countedTo: CappedCount.cap, on: connection)
        var effect = ChangeEffect()
        let ids = together.keys.map(\.originalTransactionID)
        effect.before = DatabaseDesk.listed(ids, of: CappedCount(together.count), owner: .text(purchase.customer))
        effect.after = DatabaseDesk.listed(ids, of: CappedCount(together.count), owner: .string(target))
        return effect
    }

    func environment(_ parameters: JSON) -> StoreEnvironment {
        parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)) ?? .production
    }

    // MARK: - Deliveries and events

    private static func state(_ delivery: DeliverySummary) -> JSON {
        .object([
            "state": .string(delivery.state.name), "attempts": .int(Int64(delivery.attempts)),
            "endpoint": .string(delivery.endpoint),
        ])
    }

    /// Why nothing is sent to an endpoint, as the end of a sentence; nil: it is.
    private func objection(to endpoint: String, _ living: [Endpoint]) -> String? {
        guard let found = living.first(where: { $0.id == endpoint }) else { return "it was removed" }
        return found.disabledReason.map { "it is disabled (\($0))" }
    }

    private func resending(_ target: String) throws -> ChangeEffect {
        let answer = try delivery(target)
        var effect = ChangeEffect()
        effect.before = DatabaseDesk.state(answer.delivery)
        effect.after = effect.before
        if let objection = objection(to: answer.delivery.endpoint, try EndpointTable.list(on: connection)) {
            effect.refusal = "The endpoint \(answer.delivery.endpoint) gets nothing: \(objection)."
            return effect
        }
        effect.after = .object([
            "state": .string(DeliveryState.pending.name), "attempts": .int(Int64(answer.delivery.attempts)),
            "endpoint": .string(answer.delivery.endpoint),
        ])
        effect.webhooks = [
            ChangePreview.Webhooks(
                type: answer.delivery.eventType, endpoints: [answer.delivery.endpoint], held: [])
        ]
        return effect
    }

    private func resending(event id: String, to only: String?) throws -> ChangeEffect {
        let answer = try event(id)
        let known = try DeliveryQuery.list(
            DatabaseDesk.deliveries(of: answer.event), ListRange(limit: 1000), on: connection
        ).rows
        let living = try EndpointTable.list(id: only, on: connection)
        let isForOne = answer.repeats != nil || answer.event.type == "TEST"
        let takers = living.filter { endpoint in
            known.contains { $0.endpoint == endpoint.id } || !isForOne && EventRepair.takes(endpoint, answer.event)
        }
        let sent = takers.filter { $0.disabledReason == nil }.map(\.id).sorted()
        var effect = ChangeEffect()
        effect.before = .object(
            known.filter { only == nil || $0.endpoint == only }.map {
                JSON.Member(name: $0.endpoint, value: .string($0.state.name))
            })
        effect.after = .object(
            sent.map { JSON.Member(name: $0, value: .string(DeliveryState.pending.name)) })
        let isGone = try EventQuery.body(of: answer.event, on: connection).isEmpty
        if isGone {
            effect.refusal = "The event is too old: its body is not kept any more."
        } else if sent.isEmpty {
            effect.refusal = "No endpoint can have this event."
        } else {
            effect.webhooks = [ChangePreview.Webhooks(type: answer.event.type, endpoints: sent, held: [])]
        }
        return effect
    }

    private static func deliveries(of event: EventSummary) -> DeliveryQuery.Filter {
        var filter = DeliveryQuery.Filter()
        filter.events = [event.name]
        return filter
    }

    // MARK: - Many rows

    /// How long rows are counted.
    static let patience = Duration.milliseconds(1200)

    private func counting(_ kind: ChangeKind, _ target: String, _ parameters: JSON) throws -> ChangeEffect {
        guard let selection = BulkSelection(json: parameters) else {
            throw DeskError.badRequest("The selection cannot be read.")
        }
        let deadline = ContinuousClock.now + DatabaseDesk.patience
        var (preview, position) = (BulkPreview(), [String]())
        let customer = kind.targetClass == .customer ? target : nil
        let isResend = kind == .bulkResend || kind == .customerResend
        let deliveries = DeliveryBulk(isResend ? .resend : .giveUp, selection, ofCustomer: customer)
        let notifications = NotificationBulk(selection)
        repeat {
            if let deliveries {
                let page = try deliveries.page(after: position, on: connection)
                for row in page.rows {
                    preview.add(
                        row.skip, endpoint: row.endpoint,
                        .object([
                            "id": .string(row.id.text), "type": .string(row.type), "endpoint": .string(row.endpoint),
                            "created_at": .date(row.created),
                        ]))
                }
                (position, preview.isComplete) = (page.end, page.isLast)
            } else if let notifications {
                let page = try notifications.page(after: position, on: connection)
                for row in page.rows {
                    let name = row.identity
                    preview.add(
                        row.skip, endpoint: nil,
                        .object([
                            "id": .string("\(name.app)/\(name.environment.rawValue)/\(name.uuid)"),
                            "type": .string(row.type),
                        ]))
                }
                (position, preview.isComplete) = (page.end, page.isLast)
            }
        } while !preview.isComplete && .now < deadline && (deliveries != nil || notifications != nil)
        var effect = ChangeEffect()
        effect.rows = preview
        return effect
    }
}
