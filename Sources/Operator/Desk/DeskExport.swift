import Base
import Database
import Postgres

/// Rows of a list as a file, which the audit has.
package struct DeskExport: Sendable {
    /// A word of the path.
    package let name: String
    package let csv: String
    /// The cursor of the row behind the last; nil: there is none.
    package let next: String?

    package static let contentType = "text/csv; charset=utf-8; header=present"

    /// - Parameter path: behind `/operator/v1`.
    init(_ table: any DeskCSV, path: String) {
        name = path.split(separator: "/").last.map(String.init) ?? "list"
        (csv, next) = (table.csv, table.next)
    }

    /// Puts it into the audit before anyone gets it.
    ///
    /// - Throws: `DeskError` where the schema has no such entries yet.
    static func note(
        _ table: any DeskCSV, _ route: OperatorRoute, _ values: PathValues, query: String?, by origin: ChangeOrigin,
        on connection: PostgresConnection
    ) throws {
        var parameters = try DeskParameters(query: query, of: route.path)
        let customer = route.section == .customers ? values.values["id"] : parameters.text("customer")
        let list = route.path.replacing(OperatorRoute.root + "/", with: "")
        try note(list, rows: table.count, customer: customer, filters: parameters.words, by: origin, on: connection)
    }

    /// - Parameters:
    ///   - rows: nil: they are no rows of a list.
    ///   - customer: whose rows they are, by any id; nil: those of all.
    ///   - filters: without those that name customers.
    package static func note(
        _ list: String, rows: Int?, customer: String? = nil, filters: String, by origin: ChangeOrigin,
        on connection: PostgresConnection
    ) throws {
        let rows = rows.map { ["\($0) rows"] } ?? []
        let message = (rows + (customer == nil ? [] : ["of \(list)"]) + (filters.isEmpty ? [] : [filters]))
        let target = try customer.map { try CustomerQuery.resolve($0, on: connection).appUserID ?? "" }
        do {
            try AuditTable.exported(
                target == nil ? .export : .customerExport, target ?? list,
                message: message.joined(separator: "; "), by: origin, on: connection)
        } catch let error as PostgresError where error.sqlstate == "42501" {
            throw DeskError.unavailable("The database has an older schema: run `entitled migrate`.")
        }
    }
}

extension OperatorRoute {
    /// A list of the operator API as a file: for pages.
    ///
    /// - Parameters:
    ///   - path: below `/operator/v1`, percent-encoded.
    ///   - query: as in a URL, with `format=csv`.
    ///   - now: ms since 1970.
    /// - Throws: `DeskError`.
    package static func export(
        _ path: String, query: String, for viewer: Viewer, from origin: ChangeOrigin, _ settings: DeskSettings,
        now: Int64, on connection: PostgresConnection
    ) throws -> DeskExport {
        let parts = PathPattern.parts(of: root + path)
        for route in byExactness {
            guard let values = route.pattern.values(of: parts) else { continue }
            let answer = try route.answer(
                values, query: query, hasFormats: true, prefersCSV: true, for: viewer, settings, now: now,
                on: connection)
            guard let table = answer as? any DeskCSV else { break }
            try DeskExport.note(table, route, values, query: query, by: origin, on: connection)
            return DeskExport(table, path: path)
        }
        throw DeskError.notFound("There is no such list.")
    }
}
