import Base
import Database
import Postgres

extension OperatorRoute {
    static let byExactness = all.sorted { $0.pattern.exactness > $1.pattern.exactness }

    /// Answers the question of this path, within one snapshot of the database.
    ///
    /// - Parameters:
    ///   - query: of the URL.
    ///   - hasFormats: whether the rows of a list may be counted, and told as CSV.
    ///   - prefersCSV: whether they are told as CSV unless the query says otherwise.
    ///   - now: ms since 1970.
    /// - Returns: as CSV a `DeskCSV`.
    /// - Throws: `DeskError`.
    func answer(
        _ values: PathValues, query: String?, hasFormats: Bool = false, prefersCSV: Bool = false, for viewer: Viewer,
        _ settings: DeskSettings, now: Int64, on connection: PostgresConnection
    ) throws -> any DeskAnswer {
        // Before the query is looked at: a role is told nothing of what it does not see.
        try viewer.check(section)
        // A cursor of one customer's list is none of another's.
        let list = ([path] + values.values.sorted { $0.key < $1.key }.map(\.value)).joined(separator: " ")
        var parameters = try DeskParameters(
            query: query, of: list, hasFormats: hasFormats, prefersCSV: prefersCSV)
        return try DatabaseDesk.ask(settings, for: viewer, now: now, on: connection) { desk in
            try ask(desk, values, &parameters)
        }
    }

    /// The answer of the operator API to a path, without its listener: for commands on the host.
    ///
    /// - Parameters:
    ///   - path: below `/operator/v1`, percent-encoded.
    ///   - query: as in a URL.
    ///   - now: ms since 1970.
    /// - Throws: `DeskError`.
    package static func answer(
        to path: String, query: String, for viewer: Viewer, _ settings: DeskSettings, now: Int64,
        on connection: PostgresConnection
    ) throws -> any DeskAnswer {
        let parts = PathPattern.parts(of: root + path)
        for route in byExactness {
            guard let values = route.pattern.values(of: parts) else { continue }
            return try route.answer(values, query: query, for: viewer, settings, now: now, on: connection)
        }
        throw DeskError.notFound("This path does not exist.")
    }
}
