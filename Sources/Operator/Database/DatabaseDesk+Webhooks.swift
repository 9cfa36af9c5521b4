import Base
import Database
import Postgres

extension DatabaseDesk {
    // MARK: - Events

    package func events(_ question: EventsQuestion) throws -> DeskList<EventRow> {
        try viewer.check(.events)
        var filter = EventQuery.Filter()
        (filter.type, filter.app, filter.environment) = (question.type, question.app, question.environment)
        if let purchase = question.purchase {
            filter.subject = EventQuery.Subject(originalTransactionID: purchase)
        } else if let customer = question.customer {
            filter.subject = try EventQuery.Subject(
                customer: try appUserIDs(of: customer, field: "customer"), on: connection)
        }
        return question.part.list(
            try EventQuery.list(filter, question.part.range, now: now, on: connection)
        ) { $0 }
    }

    private func summary(ofEvent id: String, field: String? = nil) throws -> EventSummary {
        guard let bytes = UUIDText.bytes(id) else {
            let hint = DeliveryID(text: id) == nil ? "" : "; this is a delivery"
            throw DeskError.notFound("\(id) is not an event id: an event id is a UUID\(hint).", field: field)
        }
        guard let event = try EventQuery.find(bytes, on: connection).first else {
            throw DeskError.notFound("There is no event \(UUIDText.upper(bytes)).", field: field)
        }
        return event
    }

    package func event(_ id: String) throws -> EventAnswer {
        try viewer.check(.events)
        let event = try summary(ofEvent: id)
        var filter = DeliveryQuery.Filter()
        filter.events = [event.name]
        return EventAnswer(
            event: event,
            body: ShownBody.of(try EventQuery.body(of: event, on: connection), for: viewer.personalData),
            deliveries: viewer.may(.deliveries)
                ? try DeliveryQuery.list(filter, ListRange(limit: 1000), on: connection).rows : [],
            repeats: try EventCopy.original(of: event.id, in: event.lane, on: connection))
    }

    // MARK: - Deliveries

    /// Events of a customer whose deliveries are looked for, the newest.
    private static let consideredEvents = 2_000

    package func deliveries(_ question: DeliveriesQuestion) throws -> DeskList<DeliveryRow> {
        try viewer.check(.deliveries)
        var filter = DeliveryQuery.Filter(endpoint: question.endpoint, state: question.state)
        filter.eventType = question.type
        filter.lastStatus = question.status
        filter.attemptsAtLeast = question.attemptsAtLeast
        var lookedBackTo: Int64?
        if let event = question.event {
            filter.events = [try summary(ofEvent: event, field: "event").name]
        } else if let customer = question.customer {
            var events = EventQuery.Filter()
            events.subject = try EventQuery.Subject(
                customer: try appUserIDs(of: customer, field: "customer"), on: connection)
            let page = try EventQuery.list(
                events, ListRange(limit: DatabaseDesk.consideredEvents), now: now, on: connection)
            filter.events = Set(page.rows.map(\.name))
            lookedBackTo = page.next == nil ? nil : page.rows.last?.created
        }
        let list = question.part.list(try DeliveryQuery.list(filter, question.part.range, on: connection)) { $0 }
        return DeskList(list.items, next: list.next, lookedBackTo: list.lookedBackTo ?? lookedBackTo)
    }

    package func delivery(_ id: String) throws -> DeliveryAnswer {
        try viewer.check(.deliveries)
        guard let name = DeliveryID(text: id) else {
            throw DeskError.notFound("\(id) is not a delivery id such as dlv_….")
        }
        guard let found = try DeliveryQuery.show(name, on: connection) else {
            throw DeskError.notFound("There is no delivery \(name.text).")
        }
        let isAnswerShown = viewer.personalData == .whole
        return DeliveryAnswer(
            delivery: found.delivery,
            attempts: found.attempts.map { AttemptRow(attempt: $0, isAnswerShown: isAnswerShown) },
            body: ShownBody.of(found.body, for: viewer.personalData), sequence: found.sequence,
            blockedBy: found.blockedBy,
            repeats: try EventCopy.original(of: found.delivery.event, in: name.lane, on: connection))
    }

    // MARK: - Endpoints

    package func endpoints() throws -> DeskList<EndpointRow> {
        try viewer.check(.endpoints)
        let health = try EndpointHealthPage.load(settings.healthPolicy, on: connection)
        return DeskList(
            try EndpointTable.list(on: connection).map { EndpointRow(endpoint: $0, health: health.of($0)) })
    }

    package func endpoint(_ id: String) throws -> EndpointAnswer {
        try viewer.check(.endpoints)
        guard let endpoint = try EndpointTable.list(id: id, on: connection).first else {
            throw DeskError.notFound("There is no endpoint \(id).")
        }
        let health = try EndpointHealthPage.load(id: id, settings.healthPolicy, on: connection).of(endpoint)
        let backlog = try OverviewQuery.backlog(of: id, upTo: CappedCount.cap, on: connection)
        func count(_ code: DeliveryCode) -> CappedCount { CappedCount(backlog[code] ?? 0) }
        return EndpointAnswer(
            row: EndpointRow(endpoint: endpoint, health: health),
            live: try EndpointSecrets.list(of: id, now: now, on: connection),
            schedule: endpoint.retrySchedule ?? settings.retrySchedule, pending: count(.pending), held: count(.held),
            blocked: count(.blocked), dead: count(.dead))
    }
}
