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
            filter.subject = try subject(customer)
        }
        return question.part.list(
            try EventQuery.list(filter, question.part.range, now: now, on: connection)
        ) { $0 }
    }

    /// What is looked at of one customer: purchases, and the newest actions.
    static let consideredRows = 2_000

    /// The events about a customer who is given by any id.
    private func subject(_ customer: String) throws -> EventQuery.Subject {
        guard viewer.seesPersons else { throw DeskError.forbidden(viewer.role, parameter: "customer") }
        return try EventQuery.Subject(
            customer: try appUserIDs(of: customer, field: "customer"), atMost: DatabaseDesk.consideredRows,
            on: connection)
    }

    func summary(ofEvent id: String, field: String? = nil) throws -> EventSummary {
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
            body: ShownBody.of(try EventQuery.body(of: event, on: connection), for: viewer),
            deliveries: viewer.may(.deliveries)
                ? try DeliveryQuery.list(filter, ListRange(limit: 1000), on: connection).rows : [],
            repeats: try EventCopy.original(of: event.id, in: event.lane, on: connection))
    }

    // MARK: - Deliveries

    /// Events of a customer whose deliveries are looked for, the newest.
    private static let consideredEvents = 2_000

    package func deliveries(_ question: DeliveriesQuestion) throws -> DeskList<DeliveryRow> {
        try viewer.check(.deliveries)
        var filter = filter(question)
        let range = question.part.range
        var last: Int64?
        if let event = question.event {
            filter.events = [try summary(ofEvent: event, field: "event").name]
        } else if let customer = question.customer {
            var events = EventQuery.Filter()
            events.subject = try subject(customer)
            // A delivery is never older than its event.
            let until = range.after.map { $0.order == .max ? .max : min(range.until ?? .max, $0.order + 1) }
            let page = try EventQuery.list(
                events, ListRange(until: until ?? range.until, limit: DatabaseDesk.consideredEvents), now: now,
                on: connection)
            filter.events = Set(page.rows.map(\.name))
            last = page.next == nil ? nil : page.rows.last?.created
        }
        let page = try DeliveryQuery.list(filter, range, on: connection)
        guard page.next == nil, let last else { return question.part.list(page) { $0 } }
        let cut = ListPage(
            page.rows, limit: range.limit, stop: (last, ListCursor(order: last, lane: .max, id: DatabaseDesk.lastID))
        ) { ListCursor(order: $0.created, lane: $0.id.lane.number, id: $0.id.bytes) }
        return question.part.list(cut) { $0 }
    }

    /// But for event and customer.
    func filter(_ question: DeliveriesQuestion) -> DeliveryQuery.Filter {
        var filter = DeliveryQuery.Filter(endpoint: question.endpoint, state: question.state)
        filter.eventType = question.type
        filter.lastStatus = question.status
        filter.attemptsAtLeast = question.attemptsAtLeast
        return filter
    }

    /// The last of an instant, so that the page goes on with all of that instant.
    private static let lastID = [UInt8](repeating: 0xff, count: 16)

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
            body: ShownBody.of(found.body, for: viewer), sequence: found.sequence,
            blockedBy: found.blockedBy,
            repeats: try EventCopy.original(of: found.delivery.event, in: name.lane, on: connection))
    }

    // MARK: - Endpoints

    package func endpoints() throws -> DeskList<EndpointRow> {
        try viewer.check(.endpoints)
        let health = try EndpointHealthPage.load(settings.healthPolicy, on: connection)
        let endpoints = try EndpointTable.list(on: connection)
        let latencies = try EndpointLatency.readAll(of: endpoints.count, now: now, on: connection)
        return DeskList(
            endpoints.map { EndpointRow(endpoint: $0, health: health.of($0), latency: latencies[$0.id]) })
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
            row: EndpointRow(
                endpoint: endpoint, health: health,
                latency: try EndpointLatency.read(of: id, now: now, on: connection)),
            settings: EndpointSettings(
                endpoint, live: try EndpointSecrets.list(of: id, now: now, on: connection),
                standard: settings.retrySchedule),
            pending: count(.pending), held: count(.held), blocked: count(.blocked))
    }
}
