import Base
import HTTP
import Subscriptions

/// What a request for a list of REST v2 asks for (RevenueCat: Pagination).
struct V2List {
    /// How many are wanted at most.
    let limit: Int
    /// The id of the last one of the page before; nil: the first page.
    let after: String?
    private let url: String
    /// What the next page's address repeats.
    private let kept: [(name: String, value: String)]

    static let usual = 20
    static let most = 1000

    /// - Parameters:
    ///   - url: the path of the list.
    ///   - filters: names of further parameters of the list.
    /// - Throws: `APIError`, 400.
    init(_ call: APICall, url: String, filters: [String] = []) throws {
        self.url = url
        let fields = try V2List.fields(call)
        after = fields["starting_after"]
        if let text = fields["limit"] {
            let isNumber = !text.isEmpty && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            // More digits than a number here holds are more than the most.
            let limit = isNumber ? Int(text) ?? V2List.most : 0
            guard limit >= 1 else {
                throw APIError.badRequest("limit must be a whole number of at least 1.", parameter: "limit")
            }
            self.limit = min(limit, V2List.most)
        } else {
            limit = V2List.usual
        }
        kept = (["limit"] + filters).compactMap { name in fields[name].map { (name, $0) } }
    }

    /// The parameters of a request.
    ///
    /// - Throws: `APIError`, 400.
    static func fields(_ call: APICall) throws -> Form {
        do throws(Form.Fault) {
            return try Form(query: call.head.query ?? "")
        } catch {
            throw APIError.badRequest("The query cannot be read: \(error).")
        }
    }

    /// The page of a list that is read as a whole.
    ///
    /// - Throws: `APIError`, 400, where it has nothing by the id that `starting_after` names.
    func page(of items: [V2Document.Item]) throws -> APIAnswer {
        var rest = items[...]
        if let after {
            guard let place = items.firstIndex(where: { $0.id == after }) else {
                throw APIError.badRequest("The list has no item \(after).", parameter: "starting_after")
            }
            rest = items[(place + 1)...]
        }
        return answer(Array(rest.prefix(limit + 1)))
    }

    /// - Parameter items: one more than are wanted, where there is one.
    func answer(_ items: [V2Document.Item]) -> APIAnswer {
        let page = items.prefix(limit)
        let next = items.count > limit ? page.last.map { address(after: $0.id) } : nil
        return .response(.document(200, V2Document.list(page.map(\.json), url: url, next: next)))
    }

    private func address(after id: String) -> String {
        let fields = kept + [("starting_after", id)]
        return "\(url)?" + fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    }
}
