import Base
import Database
import HTTP
import Markup
import Operator

/// What any id names: the one page of it, or a list where there are several.
enum SearchPage {
    static let routes = [ConsoleRoute("GET", "/search", .operators, .page, answer)]

    private static func answer(_ call: PageCall) throws -> PageAnswer {
        guard let text = call.query["q"], text.contains(where: { !$0.isWhitespace }) else {
            return .page(
                Page("Search") {
                    Tag.h1 { "Search" }
                    Tag.p(.classes(.lead)) { kinds }
                })
        }
        let list = try call.ask { try $0.search(try call.question(SearchQuestion.self, of: "search")) }
        // An attribute is what an app says: any user may have written another one's address into it.
        if list.items.count == 1, let hit = list.items.first, !hit.isByAttribute, call.sees(section(hit)) {
            return .redirect(path(hit))
        }
        return .page(
            Page("Search", api: call.api("search")) {
                Tag.h1 {
                    "Search for "
                    Node.untrusted(text)
                }
                if list.items.isEmpty {
                    PageParts.empty("Nothing is known by this id.", Tag.p { kinds })
                    if let order = OrderID(likely: text) { ask(order, call) }
                } else {
                    PageParts.table("What the text may mean", list.items, columns(call))
                    if list.items.contains(where: \.isByAttribute) {
                        Tag.p(.classes(.quiet)) {
                            "Attributes are what apps say, and prove nothing of a person. At most \(SearchHit.mostByAttribute) are shown."
                        }
                    }
                }
            })
    }

    /// No transaction says of which order it is.
    private static func ask(_ order: OrderID, _ call: PageCall) -> Node {
        let button = call.changes([.orderLookup], of: ["order_id": order.text])
        guard button != .none else { return .none }
        return .group([
            Tag.p {
                "It looks like the number of an order, as it stands in Apple's receipts. Apple can be asked for its purchases."
            },
            button,
        ])
    }

    private static let kinds =
        "Any id works: of a customer, a transaction, an order line, an event (webhook-id), a delivery, a notification, an endpoint."

    private static func columns(_ call: PageCall) -> [Column<SearchHit>] {
        [
            Column("Id") { hit in PageParts.link(path(hit), section(hit), call, .identifier(hit.id, shown: 48)) },
            Column("What", text: { $0.kind.rawValue }),
            Column("App", text: { hit in hit.app.map { app in "\(app) \(hit.environment?.rawValue ?? "")" } }),
            Column("Found by", text: { $0.matched }),
        ]
    }

    private static func section(_ hit: SearchHit) -> DeskSection {
        switch hit.kind {
        case .customer: .customers
        case .event: .events
        case .delivery: .deliveries
        case .notification: .notifications
        case .endpoint: .endpoints
        }
    }

    private static func path(_ hit: SearchHit) -> LocalPath {
        switch hit.kind {
        case .customer: ConsolePath.customer(hit.id)
        case .event: ConsolePath.event(hit.id)
        case .delivery: ConsolePath.delivery(hit.id)
        case .endpoint: ConsolePath.endpoint(hit.id)
        case .notification:
            ConsolePath.notification(app: hit.app ?? "", environment: hit.environment ?? .production, uuid: hit.id)
        }
    }
}
