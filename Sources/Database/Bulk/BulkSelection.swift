import Base

/// The rows that a change of many rows is about: those of a list with its filters, or some by their ids.
///
/// What comes later is not in it: rows were made before `until`, and what was delivered or given up was so before.
package struct BulkSelection: Sendable {
    package enum Rows: Sendable {
        /// Deliveries; of the target's, where the change is about a customer.
        case deliveries(DeliveryQuery.Filter, event: String?)
        case deliveryIDs([DeliveryID])
        /// Deliveries of events; of the target's, where the change is about a customer. `purchase` is an original transaction id.
        case events(EventQuery.Filter, purchase: String?)
        case notifications(NotificationQuery.Filter)
        case notificationIDs([NotificationIdentity])
        /// Customers, by when they were seen first.
        case customers
        /// Ids of customers.
        case customerIDs([String])
    }

    package let rows: Rows
    /// ms since 1970, inclusive.
    package let since: Int64?
    /// ms since 1970, exclusive.
    package let until: Int64

    package init(_ rows: Rows, since: Int64? = nil, until: Int64) {
        self.rows = rows
        self.since = since
        self.until = until
    }

    /// The same, of what was before an instant by the database's clock.
    package func bounded(by instant: Int64) -> BulkSelection {
        BulkSelection(rows, since: since, until: min(until, instant))
    }

    // MARK: - As a job keeps it

    /// The member of a job's parameters that has ids of customers.
    package static let customerIDs = "customer_ids"

    package var json: JSON {
        let rows: JSON.Member =
            switch self.rows {
            case .deliveries(let filter, let event): JSON.Member(name: "deliveries", value: filter.json(event: event))
            case .deliveryIDs(let ids): JSON.Member(name: "delivery_ids", value: .strings(ids.map(\.text)))
            case .events(let filter, let purchase):
                JSON.Member(name: "events", value: filter.json(purchase: purchase))
            case .notifications(let filter): JSON.Member(name: "notifications", value: filter.json)
            case .notificationIDs(let ids):
                JSON.Member(
                    name: "notification_ids",
                    value: .array(ids.map { .strings([$0.app, $0.environment.rawValue, $0.uuid]) }))
            case .customers: JSON.Member(name: "customers", value: .object([JSON.Member]()))
            case .customerIDs(let ids): JSON.Member(name: BulkSelection.customerIDs, value: .strings(ids))
            }
        return .object([
            rows, JSON.Member(name: "since_ms", value: .integer(since)),
            JSON.Member(name: "until_ms", value: .int(until)),
        ])
    }

    /// The end of the year 9999.
    private static let latest: Int64 = 253_402_300_799_999

    /// The console's role writes it, which may be taken over: instants are made such that they can be reckoned with.
    private static func instant(_ value: JSON?) -> Int64? {
        value?.intValue.map { min(max(0, $0), latest) }
    }

    /// Nil for what is no such thing.
    package init?(json: JSON) {
        guard let until = BulkSelection.instant(json["until_ms"]) else { return nil }
        let rows: Rows
        if let filter = json["deliveries"] {
            guard let read = DeliveryQuery.Filter(json: filter) else { return nil }
            rows = .deliveries(read, event: filter["event"]?.stringValue)
        } else if let ids = json["delivery_ids"]?.arrayValue {
            let read = ids.compactMap { $0.stringValue.flatMap(DeliveryID.init(text:)) }
            guard read.count == ids.count else { return nil }
            rows = .deliveryIDs(read)
        } else if let filter = json["events"] {
            guard let read = EventQuery.Filter(json: filter) else { return nil }
            rows = .events(read, purchase: filter["purchase"]?.stringValue)
        } else if let filter = json["notifications"] {
            guard let read = NotificationQuery.Filter(json: filter) else { return nil }
            rows = .notifications(read)
        } else if let ids = json["notification_ids"]?.arrayValue {
            let read = ids.compactMap { NotificationIdentity(words: $0.arrayValue?.compactMap(\.stringValue) ?? []) }
            guard read.count == ids.count else { return nil }
            rows = .notificationIDs(read)
        } else if json["customers"] == .object([JSON.Member]()) {
            rows = .customers
        } else if let ids = json[BulkSelection.customerIDs]?.arrayValue {
            let read = ids.compactMap(\.stringValue)
            guard read.count == ids.count,
                read.allSatisfy({ (1...1024).contains($0.utf8.count) && !$0.utf8.contains(0) })
            else { return nil }
            rows = .customerIDs(read)
        } else {
            return nil
        }
        // A beginning that cannot be read is not left out, since that would widen it.
        let since = BulkSelection.instant(json["since_ms"])
        if since == nil, let given = json["since_ms"], given != .null { return nil }
        self.init(rows, since: since, until: until)
    }
}

extension NotificationIdentity {
    fileprivate init?(words: [String]) {
        guard words.count == 3, let environment = StoreEnvironment(rawValue: words[1]) else { return nil }
        self.init(app: words[0], environment: environment, uuid: words[2])
    }
}

extension DeliveryQuery.Filter {
    /// Without `events`: those of a customer are looked for anew.
    fileprivate func json(event: String?) -> JSON {
        .object([
            "endpoint": .text(endpoint), "state": .text(state?.name), "type": .text(eventType),
            "status_from": .integer(lastStatus.map { Int64($0.lowerBound) }),
            "status_to": .integer(lastStatus.map { Int64($0.upperBound) }),
            "attempts_min": .integer(attemptsAtLeast.map { Int64($0) }), "event": .text(event),
        ])
    }

    fileprivate init?(json: JSON) {
        self.init(endpoint: json["endpoint"]?.stringValue)
        if let name = json["state"]?.stringValue {
            guard let state = DeliveryState(name: name) else { return nil }
            self.state = state
        }
        eventType = json["type"]?.stringValue
        if let from = json["status_from"]?.intValue, let to = json["status_to"]?.intValue {
            guard from <= to else { return nil }
            lastStatus = Int16(clamping: from)...Int16(clamping: to)
        }
        attemptsAtLeast = json["attempts_min"]?.intValue.map { Int16(clamping: $0) }
    }
}

extension EventQuery.Filter {
    /// Without `subject`: the events of a purchase or a customer are looked for anew.
    fileprivate func json(purchase: String?) -> JSON {
        .object([
            "type": .text(type), "app": .text(app), "environment": .text(environment?.rawValue),
            "purchase": .text(purchase),
        ])
    }

    fileprivate init?(json: JSON) {
        self.init()
        (type, app) = (json["type"]?.stringValue, json["app"]?.stringValue)
        if let name = json["environment"]?.stringValue {
            guard let environment = StoreEnvironment(rawValue: name) else { return nil }
            self.environment = environment
        }
        if let purchase = json["purchase"]?.stringValue {
            subject = EventQuery.Subject(originalTransactionID: purchase)
        }
    }
}

extension NotificationQuery.Filter {
    fileprivate var json: JSON {
        .object([
            "state": .text(state?.rawValue), "type": .text(type), "subtype": .text(subtype),
            "sources": sources.map { .array($0.map { .int(Int64($0.rawValue)) }) } ?? .null, "app": .text(app),
            "environment": .text(environment?.rawValue), "purchase": .text(originalTransactionID),
        ])
    }

    fileprivate init?(json: JSON) {
        self.init(app: json["app"]?.stringValue)
        if let name = json["state"]?.stringValue {
            guard let state = NotificationState(rawValue: name) else { return nil }
            self.state = state
        }
        (type, subtype) = (json["type"]?.stringValue, json["subtype"]?.stringValue)
        if let codes = json["sources"]?.arrayValue {
            let read = codes.compactMap { $0.intValue.flatMap { NotificationSource(rawValue: Int16(clamping: $0)) } }
            guard read.count == codes.count else { return nil }
            sources = read
        }
        if let name = json["environment"]?.stringValue {
            guard let environment = StoreEnvironment(rawValue: name) else { return nil }
            self.environment = environment
        }
        originalTransactionID = json["purchase"]?.stringValue
    }
}
