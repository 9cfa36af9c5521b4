import Base
import CLI
import Database

/// The parameters of a question, as they stand in the query of a URL.
///
/// Each is taken by the question that knows it; one that is left is an error, since a filter with a typo must not widen a list. An
/// empty value is none, as forms send it.
package struct DeskParameters {
    private let list: String
    /// Whether the rows may be counted, and told as CSV.
    private let hasFormats: Bool
    /// Whether the caller asked for CSV by a header.
    private let prefersCSV: Bool
    private let values: [String: String]
    private var taken: Set<String> = []

    /// Values together, in bytes, percent-encoded.
    private static let longest = 8192
    private static let most = 50

    /// - Parameters:
    ///   - list: the name of what is asked for, which cursors are bound to.
    ///   - hasFormats: whether `count` and `format` are parameters of lists.
    ///   - prefersCSV: whether CSV is told without `format`.
    package init(
        query: String?, of list: String, hasFormats: Bool = false, prefersCSV: Bool = false
    ) throws(DeskError) {
        self.list = list
        self.hasFormats = hasFormats
        self.prefersCSV = prefersCSV
        let query = query ?? ""
        guard query.utf8.count <= DeskParameters.longest else {
            throw .badRequest("The query has \(query.utf8.count) bytes; at most \(DeskParameters.longest) are read.")
        }
        var values: [String: String] = [:]
        let pairs = query.split(separator: "&", maxSplits: DeskParameters.most)
        guard pairs.count <= DeskParameters.most else {
            throw .badRequest("The query has more than \(DeskParameters.most) parameters.")
        }
        for pair in pairs {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = DeskParameters.decode(parts.first ?? ""),
                let value = DeskParameters.decode(parts.count > 1 ? parts[1] : "")
            else { throw .badRequest("The query is not percent-encoded UTF-8.") }
            guard !value.isEmpty else { continue }
            guard values.updateValue(value, forKey: name) == nil else {
                throw .badRequest("The parameter \(name) occurs twice in the query.", field: name)
            }
        }
        self.values = values
    }

    /// The same from the members of a JSON object: texts, whole numbers and flags.
    init(_ members: [JSON.Member], of list: String) throws(DeskError) {
        self.list = list
        (hasFormats, prefersCSV) = (false, false)
        var values: [String: String] = [:]
        for member in members {
            let value: String? =
                switch member.value {
                case .string(let text): text
                case .int(let number): String(number)
                case .bool(let flag): String(flag)
                default: nil
                }
            // An empty one would widen the list.
            guard let value, !value.isEmpty, !value.utf8.contains(0) else {
                throw .badRequest("\(member.name) must be a text that is not empty.", field: member.name)
            }
            guard values.updateValue(value, forKey: member.name) == nil else {
                throw .badRequest("\(member.name) occurs twice.", field: member.name)
            }
        }
        self.values = values
    }

    /// As forms write it: a plus is a space.
    private static func decode(_ text: Substring) -> String? {
        guard let decoded = PercentEncoding.decode(text.replacing("+", with: " ")), !decoded.utf8.contains(0) else {
            return nil
        }
        return decoded
    }

    // MARK: - Taking them

    package mutating func text(_ name: String) -> String? {
        taken.insert(name)
        return values[name]
    }

    /// Texts with commas between them, each once; empty where it is not there. What has an empty part is none: left out, it would
    /// widen the list.
    package mutating func list(_ name: String) throws(DeskError) -> [String] {
        guard let text = text(name) else { return [] }
        let parts = text.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.allSatisfy({ !$0.isEmpty && !$0.contains(where: \.isWhitespace) }), Set(parts).count == parts.count
        else {
            throw .badRequest(
                "\(name) must be one or several, with commas and no spaces between them, each once.", field: name)
        }
        return parts
    }

    package mutating func choice<Choice: RawRepresentable<String> & CaseIterable>(
        _ name: String, _: Choice.Type
    ) throws(DeskError) -> Choice? {
        guard let text = text(name) else { return nil }
        guard let choice = Choice(rawValue: text) else {
            throw DeskParameters.notOneOf(Choice.allCases.map(\.rawValue), text, name)
        }
        return choice
    }

    package static func notOneOf(_ allowed: [String], _ text: String, _ name: String) -> DeskError {
        .badRequest("\(name) is \(text); it must be one of: \(allowed.joined(separator: ", ")).", field: name)
    }

    package mutating func environment(_ name: String = "environment") throws(DeskError) -> StoreEnvironment? {
        try choice(name, StoreEnvironment.self)
    }

    package mutating func integer(_ name: String, _ range: ClosedRange<Int64>) throws(DeskError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let number = Int64(text), range.contains(number) else {
            throw .badRequest(
                "\(name) is \(text); it must be a whole number from \(range.lowerBound) to \(range.upperBound).",
                field: name)
        }
        return number
    }

    package mutating func flag(_ name: String) throws(DeskError) -> Bool {
        switch text(name) {
        case nil, "false": return false
        case "true": return true
        case .some(let text): throw DeskParameters.notOneOf(["true", "false"], text, name)
        }
    }

    package mutating func instant(_ name: String, now: Int64) throws(DeskError) -> Int64? {
        guard let text = text(name) else { return nil }
        guard let time = TimeArgument(text: text) else {
            throw .badRequest("\(name) is \(text); it must be \(TimeArgument.allowed).", field: name)
        }
        return time.milliseconds(now: now)
    }

    /// The rows of a page, unless `limit` says another number.
    private static let limit: Int64 = 50
    package static let mostRows: Int64 = 100
    package static let mostRowsOfCSV: Int64 = 10_000
    /// How long rows are looked for where no index orders them.
    private static let budget = Duration.milliseconds(80)

    /// The page that is asked for, after all filters were taken: `after`, `limit`, and with them `since` and `until` where the
    /// list is of a time.
    ///
    /// - Throws: `DeskError`; also where a parameter is left that no filter took.
    package mutating func part(ofTime: Bool, now: Int64) throws(DeskError) -> DeskPart {
        let since = ofTime ? try instant("since", now: now) : nil
        let until = ofTime ? try instant("until", now: now) : nil
        if let since, let until, until <= since {
            throw .badRequest("until must be after since.", field: "until")
        }
        let isCounted = hasFormats ? try flag("count") : false
        let isCSV = try isCSV()
        let most = isCSV ? DeskParameters.mostRowsOfCSV : DeskParameters.mostRows
        let limit = try integer("limit", 1...most) ?? (isCSV ? most : DeskParameters.limit)
        let after = text("after")
        try finish()
        let filters = spelled
        var cursor: ListCursor?
        if let after {
            do {
                cursor = try ListCursor(text: after, filters: filters)
            } catch {
                let code =
                    switch error {
                    case .unreadable: "bad_request"
                    case .otherFilters: "cursor_of_other_filters"
                    }
                throw DeskError(400, code, "after \(error).", field: "after")
            }
        }
        return DeskPart(
            range: ListRange(
                since: since, until: until, after: cursor, limit: Int(limit), budget: DeskParameters.budget),
            isCounted: isCounted, isCSV: isCSV, filters: filters)
    }

    private enum Format: String, CaseIterable {
        case json, csv
    }

    /// Whether the rows are told as CSV.
    mutating func isCSV() throws(DeskError) -> Bool {
        guard hasFormats else { return false }
        return try choice("format", Format.self).map { $0 == .csv } ?? prefersCSV
    }

    /// Checks that no parameter is left.
    package func finish() throws(DeskError) {
        guard let name = values.keys.filter({ !taken.contains($0) }).min() else { return }
        let known = taken.sorted().joined(separator: ", ")
        throw DeskError(
            400, "unknown_parameter",
            "There is no parameter \(name)" + (known.isEmpty ? " here." : "; there are: \(known)."), field: name)
    }

    /// Names that choose a part of a list or its form.
    private static let parts: Set = ["after", "limit", "count", "format"]
    /// Filters whose values name customers, or lead to one.
    private static let naming: Set = ["customer", "target", "purchase", "id", "event"]

    /// `state=dead since=24h`: the filters, without those that name customers.
    var words: String {
        values.filter { !DeskParameters.parts.union(DeskParameters.naming).contains($0.key) }
            .sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }

    /// The list and its filters, the same for every page.
    private var spelled: String {
        let filters = values.filter { !DeskParameters.parts.contains($0.key) }.sorted {
            $0.key < $1.key
        }
        return filters.reduce(into: "operator \(list)") { text, filter in
            text += " \(filter.key)=\(filter.value.utf8.count):\(filter.value)"
        }
    }
}

/// The part of a list that is asked for.
package struct DeskPart: Sendable {
    package let range: ListRange
    /// Whether all rows of the list are to be counted.
    package let isCounted: Bool
    package let isCSV: Bool
    /// What cursors of the list are bound to.
    fileprivate let filters: String

    /// The position that it begins behind, as text.
    var cursor: String? { range.after?.text(filters: filters) }

    /// Another part of the same list.
    ///
    /// - Parameter cursor: of a page of this list; nil: from the beginning.
    func part(after cursor: String?, limit: Int) -> DeskPart {
        let start = cursor.flatMap { try? ListCursor(text: $0, filters: filters) }
        return DeskPart(
            range: ListRange(
                since: range.since, until: range.until, after: start, limit: limit, budget: range.budget),
            isCounted: false, isCSV: false, filters: filters)
    }

    /// A page of the list, with the text of its cursor.
    package func list<Row: Sendable, Item: DeskAnswer>(_ page: ListPage<Row>, _ item: (Row) throws -> Item) rethrows
        -> DeskList<Item>
    {
        DeskList(
            try page.rows.map(item), next: page.next?.text(filters: filters), lookedBackTo: page.lookedBackTo)
    }
}
