import Base
import Database
import Duties

/// A change of many rows as it is asked for: `{"kind", "filter": {…the list's own names…} | "ids": […], "reason"}`.
package enum BulkRequest: String, Sendable, CaseIterable {
    case resend
    case giveUp = "give_up"
    case reprocess
    /// The deliveries of events are sent again.
    case resendEvents = "resend_events"
    /// As `entitled replay webhooks` does.
    case replayWebhooks = "replay_webhooks"
    /// As `entitled replay history` does.
    case replayHistory = "replay_history"
    /// A replay of Apple's history of an outage's time.
    case outageLook = "outage_look"
    /// Customers get an entitlement.
    case grant

    /// Of `ids`.
    static let mostIDs = 500
    /// Bytes of the body.
    static let longest = 60 << 10

    /// The kinds of changes that it may come to.
    static let kinds = Dictionary(uniqueKeysWithValues: allCases.map { ($0.rawValue, $0.kind) })

    package var kind: ChangeKind {
        switch self {
        case .resend, .resendEvents: .bulkResend
        case .giveUp: .bulkGiveUp
        case .reprocess: .bulkReprocess
        case .replayWebhooks: .replayWebhooks
        case .replayHistory: .replayHistory
        case .outageLook: .outageLook
        case .grant: .bulkGrant
        }
    }

    /// The list whose rows are meant.
    package var list: DeskSection {
        switch self {
        case .resend, .giveUp: .deliveries
        case .reprocess: .notifications
        case .resendEvents: .events
        case .replayWebhooks: .endpoints
        case .replayHistory, .outageLook: .outages
        case .grant: .customers
        }
    }

    /// Parameters of a list that choose a part of it.
    private static let parts = ["after", "limit"]

    /// - Parameter kind: as the body says it.
    static func find(_ desk: DatabaseDesk, _ body: inout ChangeBody) throws -> ChangeRoute.Subject {
        guard let request = try BulkRequest(rawValue: body.text("kind")) else {
            throw DeskError.badRequest("kind is missing.", field: "kind")
        }
        let (filter, ids) = (try body.filter("filter"), try body.texts("ids", atMost: mostIDs))
        switch (filter, ids) {
        case (let filter?, nil): return try request.subject(filter, desk, &body)
        case (nil, let ids?): return try request.subject(ids, desk, &body)
        default: throw DeskError.badRequest("A job needs one of filter and ids.", field: "filter")
        }
    }

    private func subject(
        _ ids: [String], _ desk: DatabaseDesk, _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        switch self {
        case .grant:
            try desk.viewer.check(list)
            guard ids.allSatisfy({ (1...1024).contains($0.utf8.count) && !$0.utf8.contains(0) }) else {
                throw DeskError.badRequest("ids must be ids of customers, of 1 to 1024 bytes.", field: "ids")
            }
            return try grant(.customerIDs(ids), desk, &body)
        case .resendEvents:
            throw DeskError.badRequest(
                "Events are selected by a filter; only deliveries can be named by id.", field: "ids")
        case .resend, .giveUp:
            let read = ids.compactMap(DeliveryID.init(text:))
            guard read.count == ids.count else {
                throw DeskError.badRequest("ids must be ids of deliveries, such as dlv_….", field: "ids")
            }
            return subject(.deliveryIDs(read), of: list.rawValue, desk)
        case .replayWebhooks, .replayHistory, .outageLook:
            throw DeskError.badRequest("A replay is selected by a filter.", field: "ids")
        case .reprocess: break
        }
        let read = ids.compactMap { id -> NotificationIdentity? in
            let parts = id.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 3, let environment = StoreEnvironment(rawValue: parts[1]) else { return nil }
            return NotificationIdentity(app: parts[0], environment: environment, uuid: parts[2])
        }
        guard read.count == ids.count else {
            throw DeskError.badRequest("ids must be APP/ENVIRONMENT/UUID of notifications.", field: "ids")
        }
        return subject(.notificationIDs(read), of: list.rawValue, desk)
    }

    private func subject(
        _ filter: [JSON.Member], _ desk: DatabaseDesk, _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        if let part = filter.map(\.name).first(where: BulkRequest.parts.contains) {
            throw DeskError(
                400, "unknown_parameter", "A selection has no \(part): it covers everything that matches.", field: part)
        }
        guard !filter.isEmpty else {
            throw DeskError.badRequest("filter is empty; it must select something.", field: "filter")
        }
        try desk.viewer.check(list)
        var parameters = try DeskParameters(filter, of: list.rawValue)
        switch self {
        case .resend, .giveUp: return try subject(DeliveriesQuestion(&parameters, now: desk.now), desk)
        case .resendEvents: return try subject(EventsQuestion(&parameters, now: desk.now), desk)
        case .replayWebhooks: return try ReplayRequest.webhooks(&parameters, desk, &body)
        case .replayHistory: return try ReplayRequest.history(&parameters, desk, &body)
        case .outageLook: return try ReplayRequest.outage(&parameters, desk, &body)
        case .grant:
            let range = try CustomersQuestion(&parameters, now: desk.now).part.range
            return try grant(.customers, since: range.since, until: range.until, desk, &body)
        case .reprocess: break
        }
        let question = try NotificationsQuestion(&parameters, now: desk.now)
        let range = question.part.range
        return subject(.notifications(desk.filter(question)), range.since, range.until, of: list.rawValue, desk)
    }

    private func grant(
        _ rows: BulkSelection.Rows, since: Int64? = nil, until: Int64? = nil, _ desk: DatabaseDesk,
        _ body: inout ChangeBody
    ) throws -> ChangeRoute.Subject {
        var subject = subject(rows, since, until, of: list.rawValue, desk)
        subject.parameters = .object(
            (subject.parameters.members ?? []) + (try ChangeRoute.grantTerms(desk, &body)))
        // A list that is too long is refused before it is waited for.
        if let bulk = BulkSelection(json: subject.parameters).flatMap(CustomerBulk.init),
            try bulk.count(on: desk.connection) > CustomerBulk.most
        {
            throw DeskError.badRequest(BulkWork.tooMany, field: "filter")
        }
        return subject
    }

    private func subject(_ question: DeliveriesQuestion, _ desk: DatabaseDesk) throws -> ChangeRoute.Subject {
        let range = question.part.range
        let rows = BulkSelection.Rows.deliveries(
            desk.filter(question), event: try question.event.map { try desk.summary(ofEvent: $0, field: "event").id })
        return try subject(rows, range, ofCustomer: question.customer, desk)
    }

    private func subject(_ question: EventsQuestion, _ desk: DatabaseDesk) throws -> ChangeRoute.Subject {
        var filter = EventQuery.Filter()
        (filter.type, filter.app, filter.environment) = (question.type, question.app, question.environment)
        return try subject(
            .events(filter, purchase: question.purchase), question.part.range, ofCustomer: question.customer, desk)
    }

    private func subject(
        _ rows: BulkSelection.Rows, _ range: ListRange, ofCustomer customer: String?, _ desk: DatabaseDesk
    ) throws -> ChangeRoute.Subject {
        guard let customer else { return subject(rows, range.since, range.until, of: list.rawValue, desk) }
        guard desk.viewer.seesPersons else { throw DeskError.forbidden(desk.viewer.role, parameter: "customer") }
        let found = try desk.resolve(customer, field: "customer").appUserID ?? customer
        // The customer is the target, as that of other changes, so that a deletion reaches it; it stands nowhere else.
        var subject = subject(rows, range.since, range.until, of: found, desk)
        subject.parameters = .object(
            (subject.parameters.members ?? []) + [
                JSON.Member(
                    name: ChangeVersions.holdings,
                    value: .string(try ChangeVersions.holdings(of: found, on: desk.connection)))
            ])
        subject.kind = self == .giveUp ? .customerGiveUp : .customerResend
        return subject
    }

    private func subject(
        _ rows: BulkSelection.Rows, _ since: Int64? = nil, _ until: Int64? = nil, of target: String,
        _ desk: DatabaseDesk
    ) -> ChangeRoute.Subject {
        // Fixed here, so that nothing newer slips in.
        let selection = BulkSelection(rows, since: since, until: min(until ?? desk.now, desk.now))
        return ChangeRoute.Subject(target: target, parameters: selection.json)
    }
}
