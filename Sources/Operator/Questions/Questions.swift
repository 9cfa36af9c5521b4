import Base
import Database
import Subscriptions

/// A question about a list, as it stands in the query of a URL.
package protocol DeskQuestion: Sendable {
    /// - Parameter now: ms since 1970, for times that count from it.
    init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError)
}

/// A question about a list that is read in parts.
package protocol DeskListQuestion: DeskQuestion {
    /// Rows that are read at once where there are many.
    static var mostInPage: Int { get }

    var part: DeskPart { get set }
}

extension DeskListQuestion {
    package static var mostInPage: Int { DeskListing.page }
}

package struct SearchQuestion: DeskQuestion {
    /// Any id, without white space around it.
    package let text: String

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        guard let given = parameters.text("q") else {
            throw .badRequest("q is missing: the id to search for.", field: "q")
        }
        try parameters.finish()
        try self.init(given)
    }

    package init(_ given: String) throws(DeskError) {
        let text = String(given.drop { $0.isWhitespace }.reversed().drop { $0.isWhitespace }.reversed())
        guard !text.isEmpty, text.utf8.count <= 1024 else {
            throw .badRequest("q must have from 1 to 1024 bytes.", field: "q")
        }
        self.text = text
    }
}

package struct CustomersQuestion: DeskListQuestion {
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        part = try parameters.part(ofTime: true, now: now)
    }
}

package struct NotesQuestion: DeskListQuestion {
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        part = try parameters.part(ofTime: false, now: now)
    }
}

package struct TimelineQuestion: DeskListQuestion {
    package let order: TimelineOrder
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        let text = parameters.text("order")
        guard let order = TimelineOrder(rawValue: text ?? TimelineOrder.happened.rawValue) else {
            throw DeskParameters.notOneOf(
                [TimelineOrder.happened.rawValue, TimelineOrder.heard.rawValue], text ?? "", "order")
        }
        self.order = order
        part = try parameters.part(ofTime: true, now: now)
    }
}

/// By one of their ids, of a customer, or all that fit, which are looked through.
package struct PurchasesQuestion: DeskListQuestion {
    /// Each is folded.
    package static let mostInPage = Int(DeskParameters.mostRows)

    /// A transaction id, original transaction id or order line item id.
    package let id: String?
    /// Any id of the customer who owns them.
    package let customer: String?
    package let app: String?
    package let environment: StoreEnvironment?
    package let status: PurchaseStatus?
    package let product: String?
    /// Only those whose owner has anonymous ids alone.
    package let isUnclaimed: Bool
    /// When access ends: ms since 1970, from the first on and before the second.
    package let endsAfter: Int64?
    package let endsBefore: Int64?
    /// When the latest period was refunded or revoked: the same.
    package let refundedSince: Int64?
    package let refundedUntil: Int64?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        id = parameters.text("id")
        customer = parameters.text("customer")
        app = parameters.text("app")
        environment = try parameters.environment()
        status = try parameters.choice("status", PurchaseStatus.self)
        product = parameters.text("product")
        isUnclaimed = try parameters.flag("unclaimed")
        endsAfter = try parameters.instant("ends_after", now: now)
        endsBefore = try parameters.instant("ends_before", now: now)
        refundedSince = try parameters.instant("refunded_since", now: now)
        refundedUntil = try parameters.instant("refunded_until", now: now)
        part = try parameters.part(ofTime: false, now: now)
        if id != nil, customer != nil {
            throw .badRequest("id and customer cannot be combined.", field: "customer")
        }
        let isFiltered =
            status != nil || product != nil || isUnclaimed || endsAfter != nil || endsBefore != nil
            || refundedSince != nil || refundedUntil != nil
        if isFiltered, id != nil || customer != nil {
            throw .badRequest(
                "id and customer name purchases; beside them only app and environment filter.",
                field: id == nil ? "customer" : "id")
        }
    }
}

package struct EventsQuestion: DeskListQuestion {
    package let type: String?
    package let app: String?
    package let environment: StoreEnvironment?
    /// An original transaction id.
    package let purchase: String?
    /// Any id of a customer.
    package let customer: String?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        type = parameters.text("type")
        app = parameters.text("app")
        environment = try parameters.environment()
        purchase = parameters.text("purchase")
        customer = parameters.text("customer")
        part = try parameters.part(ofTime: true, now: now)
        guard purchase == nil || customer == nil else {
            throw .badRequest("purchase and customer cannot be combined.", field: "customer")
        }
    }

    /// The events of a customer, with the parameters that are left.
    package init(ofCustomer id: String, _ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        (type, app, environment, purchase, customer) = (
            parameters.text("type"), parameters.text("app"), try parameters.environment(), nil, id
        )
        part = try parameters.part(ofTime: true, now: now)
    }
}

package struct DeliveriesQuestion: DeskListQuestion {
    package let endpoint: String?
    package let state: DeliveryState?
    package let type: String?
    /// HTTP statuses of the last attempt.
    package let status: ClosedRange<Int16>?
    package let attemptsAtLeast: Int16?
    package let event: String?
    package let customer: String?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        endpoint = parameters.text("endpoint")
        let state = parameters.text("state")
        self.state = state.flatMap(DeliveryState.init(name:))
        if let state, self.state == nil {
            throw DeskParameters.notOneOf(DeliveryState.allCases.map(\.name), state, "state")
        }
        type = parameters.text("type")
        let status = parameters.text("status")
        self.status = status.flatMap(DeliveryState.statuses)
        if let status, self.status == nil {
            throw .badRequest(
                "status is \(status); it must be an HTTP status such as 404, or a class such as 5xx.", field: "status")
        }
        attemptsAtLeast = try parameters.integer("attempts_min", 1...1000).map { Int16($0) }
        event = parameters.text("event")
        customer = parameters.text("customer")
        part = try parameters.part(ofTime: true, now: now)
        guard event == nil || customer == nil else {
            throw .badRequest("event and customer cannot be combined.", field: "customer")
        }
    }
}

extension DeliveryState {
    /// `404` is one status, `4xx` a class of them.
    package static func statuses(_ text: String) -> ClosedRange<Int16>? {
        if let one = Int16(text), (100...599).contains(one), text.utf8.count == 3 { return one...one }
        guard text.utf8.count == 3, text.lowercased().hasSuffix("xx"), let first = text.first?.wholeNumberValue,
            (1...5).contains(first)
        else { return nil }
        return Int16(first * 100)...Int16(first * 100 + 99)
    }
}

package struct NotificationsQuestion: DeskListQuestion {
    package let state: NotificationState?
    package let type: String?
    package let subtype: String?
    package let source: NotificationSourceName?
    /// An original transaction id.
    package let purchase: String?
    package let app: String?
    package let environment: StoreEnvironment?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        state = try parameters.choice("state", NotificationState.self)
        type = parameters.text("type")
        subtype = parameters.text("subtype")
        source = try parameters.choice("source", NotificationSourceName.self)
        purchase = parameters.text("purchase")
        app = parameters.text("app")
        environment = try parameters.environment()
        part = try parameters.part(ofTime: true, now: now)
    }
}

/// How notifications came, as operators say it.
package enum NotificationSourceName: String, Sendable, CaseIterable {
    /// Sent by Apple.
    case store
    /// Found in Apple's history.
    case history
    /// Polled.
    case status
    /// Posted by an app.
    case posted
    case `import`

    package var values: [NotificationSource] {
        switch self {
        case .store: [.store]
        case .history: [.history, .historyToSend]
        case .status: [.status]
        case .posted: [.posted]
        case .import: [.imported, .importedToSend]
        }
    }
}

/// The name of a notification: an UUID of Apple's is one in each app and environment.
package struct NotificationName: Sendable, Equatable {
    package let app: String
    package let environment: StoreEnvironment
    package let uuid: String

    package init(app: String, environment: StoreEnvironment, uuid: String) {
        self.app = app
        self.environment = environment
        self.uuid = uuid
    }
}

package struct RefundsQuestion: DeskListQuestion {
    /// Only those that can still be answered.
    package let isOpen: Bool
    package let app: String?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        isOpen = try parameters.flag("open")
        app = parameters.text("app")
        part = try parameters.part(ofTime: false, now: now)
    }
}

package struct JobsQuestion: DeskListQuestion {
    package let state: Job.State?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        state = try parameters.choice("state", Job.State.self)
        part = try parameters.part(ofTime: false, now: now)
    }
}

package struct ActionsQuestion: DeskListQuestion {
    package let actor: String?
    package let kind: String?
    /// Any id of a customer.
    package let customer: String?
    package var part: DeskPart

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        actor = parameters.text("actor")
        kind = parameters.text("kind")
        customer = parameters.text("customer")
        part = try parameters.part(ofTime: true, now: now)
    }
}

/// What operators did, and what was refused to them, the newest first.
package struct AuditQuestion: DeskListQuestion {
    /// The name of an operator.
    package let actor: String?
    package let kind: String?
    /// The id of what it was about, as it was given.
    package let target: String?
    package var part: DeskPart

    /// What entries may be of.
    package static let kinds = ChangeKind.allCases.map(\.rawValue) + AuditTable.Look.allCases.map(\.rawValue)

    package init(_ parameters: inout DeskParameters, now: Int64) throws(DeskError) {
        actor = parameters.text("actor")
        kind = parameters.text("kind")
        if let kind, !AuditQuestion.kinds.contains(kind) {
            throw DeskParameters.notOneOf(AuditQuestion.kinds, kind, "kind")
        }
        target = parameters.text("target")
        part = try parameters.part(ofTime: true, now: now)
    }
}
