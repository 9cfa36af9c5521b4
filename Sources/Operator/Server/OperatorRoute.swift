import Base
import Database
import Subscriptions

/// A path of the operator API, with the question that it asks.
package struct OperatorRoute: Sendable {
    typealias Ask = @Sendable (DatabaseDesk, PathValues, inout DeskParameters) throws -> any DeskAnswer

    let pattern: PathPattern
    package let section: DeskSection
    let ask: Ask

    static let root = "/operator/v1"

    init(_ path: String, _ section: DeskSection, _ ask: @escaping Ask) {
        pattern = PathPattern(OperatorRoute.root + path)
        self.section = section
        self.ask = ask
    }

    /// As documents write it: `/operator/v1/customers/{id}`.
    package var path: String { pattern.text }
}

/// The values of a path's parameters.
struct PathValues: Sendable {
    let values: [String: String]

    subscript(_ name: String) -> String { values[name] ?? "" }

    func environment() throws(DeskError) -> StoreEnvironment {
        guard let environment = StoreEnvironment(rawValue: self["environment"]) else {
            throw DeskParameters.notOneOf(
                StoreEnvironment.allCases.map(\.rawValue), self["environment"], "environment")
        }
        return environment
    }
}

extension OperatorRoute {
    /// A list with a question of its own.
    private static func list<Question: DeskListQuestion, Item>(
        _ path: String, _ section: DeskSection, _: Question.Type,
        _ ask: @escaping @Sendable (DatabaseDesk, Question) throws -> DeskList<Item>
    ) -> OperatorRoute {
        OperatorRoute(path, section) { desk, _, parameters in
            try DeskListing.answer(try Question(&parameters, now: desk.now), desk, ask)
        }
    }

    /// Something without parameters in the query.
    private static func one(
        _ path: String, _ section: DeskSection,
        _ ask: @escaping @Sendable (DatabaseDesk, PathValues) throws -> any DeskAnswer
    ) -> OperatorRoute {
        OperatorRoute(path, section) { desk, values, parameters in
            try parameters.finish()
            return try ask(desk, values)
        }
    }

    /// Every route that reads.
    package static let all: [OperatorRoute] = [
        one("/me", .me) { desk, _ in desk.me() },
        one("/overview", .overview) { desk, _ in try desk.overview() },
        OperatorRoute("/search", .search) { desk, _, parameters in
            try desk.search(try SearchQuestion(&parameters, now: desk.now))
        },
        list("/customers", .customers, CustomersQuestion.self) { try $0.customers($1) },
        one("/customers/{id}", .customers) { desk, values in try desk.customer(values["id"]) },
        OperatorRoute("/customers/{id}/timeline", .customers) { desk, values, parameters in
            try DeskListing.answer(try TimelineQuestion(&parameters, now: desk.now), desk) {
                try $0.timeline(of: values["id"], $1)
            }
        },
        OperatorRoute("/customers/{id}/events", .customers) { desk, values, parameters in
            try DeskListing.answer(
                try EventsQuestion(ofCustomer: values["id"], &parameters, now: desk.now), desk
            ) { try $0.events($1) }
        },
        OperatorRoute("/customers/{id}/notes", .customers) { desk, values, parameters in
            try DeskListing.answer(try NotesQuestion(&parameters, now: desk.now), desk) {
                try $0.notes(of: values["id"], $1)
            }
        },
        list("/purchases", .purchases, PurchasesQuestion.self) { try $0.purchases($1) },
        one("/purchases/{app}/{environment}/{id}", .purchases) { desk, values in
            try desk.purchase(
                PurchaseKey(
                    app: values["app"], environment: try values.environment(), originalTransactionID: values["id"]))
        },
        list("/events", .events, EventsQuestion.self) { try $0.events($1) },
        one("/events/{id}", .events) { desk, values in try desk.event(values["id"]) },
        one("/endpoints", .endpoints) { desk, _ in try desk.endpoints() },
        one("/endpoints/{id}", .endpoints) { desk, values in try desk.endpoint(values["id"]) },
        list("/deliveries", .deliveries, DeliveriesQuestion.self) { try $0.deliveries($1) },
        one("/deliveries/{id}", .deliveries) { desk, values in try desk.delivery(values["id"]) },
        list("/notifications", .notifications, NotificationsQuestion.self) { try $0.notifications($1) },
        one("/notifications/{app}/{environment}/{uuid}", .notifications) { desk, values in
            try desk.notification(
                NotificationName(
                    app: values["app"], environment: try values.environment(), uuid: values["uuid"]))
        },
        one("/outages", .outages) { desk, _ in try desk.outages() },
        one("/outages/{n}", .outages) { desk, values in
            guard let number = Int64(values["n"]) else {
                throw DeskError.notFound("\(values["n"]) is not the number of an outage.")
            }
            return try desk.outage(number)
        },
        list("/refunds", .refunds, RefundsQuestion.self) { try $0.refunds($1) },
        one("/products", .products) { desk, _ in try desk.products() },
        list("/jobs", .jobs, JobsQuestion.self) { try $0.jobs($1) },
        one("/jobs/{n}", .audit) { desk, values in
            guard let number = Int64(values["n"]) else {
                throw DeskError.notFound("\(values["n"]) is not the number of a job.")
            }
            return try desk.job(number)
        },
        list("/actions", .actions, ActionsQuestion.self) { try $0.actions($1) },
        list("/audit", .audit, AuditQuestion.self) { try $0.audit($1) },
        one("/charts", .charts) { desk, _ in try desk.charts() },
        OperatorRoute("/charts/{name}", .charts) { desk, values, parameters in
            let isCSV = try parameters.isCSV()
            let chart = try desk.chart(values["name"], try ChartQuestion(&parameters, now: desk.now))
            return isCSV ? ChartRows(chart: chart) as any DeskAnswer : chart
        },
        OperatorRoute("/report", .charts) { desk, _, parameters in
            try desk.report(try ReportRequest(&parameters, now: desk.now))
        },
        one("/catalog/check", .products) { desk, _ in CatalogueAnswer(findings: try desk.catalogueFindings()) },
        one("/workers", .workers) { desk, _ in try desk.workers() },
        one("/doctor", .doctor) { desk, _ in try desk.findings() },
    ]
}
