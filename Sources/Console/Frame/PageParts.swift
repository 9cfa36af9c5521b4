import Base
import Database
import HTTP
import Markup
import Operator

/// A column of a table: its heading, and what stands in it.
struct Column<Item> {
    let title: String
    let isNumber: Bool
    let cell: (Item) -> Node

    init(_ title: String, isNumber: Bool = false, _ cell: @escaping (Item) -> Node) {
        self.title = title
        self.isNumber = isNumber
        self.cell = cell
    }

    /// Text that came from outside; nil: nothing.
    init(_ title: String, isNumber: Bool = false, text: @escaping (Item) -> String?) {
        self.init(title, isNumber: isNumber) { item in text(item).map { .untrusted($0) } ?? .none }
    }
}

/// What several pages are made of.
enum PageParts {
    /// A table. The first column names the row; a column without anything in it is left out.
    static func table<Item>(_ caption: String, _ items: [Item], _ columns: [Column<Item>]) -> Node {
        let rows = items.map { item in columns.map { $0.cell(item) } }
        let used = columns.indices.filter { place in rows.contains { $0[place] != .none } }
        return Tag.div(.classes(.wide)) {
            Tag.table {
                Tag.caption { caption }
                Tag.thead {
                    Tag.tr {
                        for place in used {
                            Tag.th(.scope(.column), columns[place].isNumber ? .classes(.number) : nil) {
                                columns[place].title
                            }
                        }
                    }
                }
                Tag.tbody {
                    for row in rows {
                        Tag.tr {
                            for place in used { cell(row[place], columns[place], isFirst: place == used.first) }
                        }
                    }
                }
            }
        }
    }

    private static func cell<Item>(_ node: Node, _ column: Column<Item>, isFirst: Bool) -> Node {
        let number: Attribute? = column.isNumber ? .classes(.number) : nil
        guard node != .none else { return Tag.td(number) }
        return isFirst
            ? Tag.th(.scope(.row), .cellName(column.title)) { Tag.div { node } }
            : Tag.td(.cellName(column.title), number) { Tag.div { node } }
    }

    static func empty(_ text: String, _ more: Node = .none) -> Node {
        Tag.div(.classes(.empty)) {
            Tag.p { text }
            more
        }
    }

    /// Names and values; nil values are left out.
    static func facts(_ facts: [(name: String, value: Node?)]) -> Node {
        Tag.dl(.classes(.facts)) {
            for (name, value) in facts {
                if let value {
                    Tag.dt { name }
                    Tag.dd { value }
                }
            }
        }
    }

    static func text(_ text: String?) -> Node? { text.map { .untrusted($0) } }

    static func badge(_ text: String, _ kind: StyleClass? = nil) -> Node {
        Tag.span(kind.map { .classes(.badge, $0) } ?? .classes(.badge)) { text }
    }

    static func badge(_ state: DeliveryState) -> Node { badge(deliveryState: state.name) }

    static func badge(deliveryState state: String) -> Node {
        switch state {
        case "delivered": badge(state, .good)
        case "dead": badge(state, .bad)
        case "held": badge(state, .warn)
        default: badge(state)
        }
    }

    static func badge(_ environment: StoreEnvironment) -> Node {
        environment == .production ? .text(environment.rawValue) : badge(environment.rawValue, .warn)
    }

    static func time(_ instant: Int64?, _ call: PageCall) -> Node { instant.map { call.clock.time($0) } ?? .none }

    /// A link to a page that the viewer may see; else the content alone.
    static func link(_ path: LocalPath, _ section: DeskSection, _ call: PageCall, _ content: Node) -> Node {
        call.sees(section) ? Node.link(to: path) { content } : content
    }

    /// `10,000+`.
    static func count(_ count: DeskCount) -> String { grouped(count.value) + (count.isCapped ? "+" : "") }
    static func count(_ count: CappedCount) -> String { grouped(count.value) + (count.isCapped ? "+" : "") }

    static func grouped(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        var text = ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place) % 3 == 0 { text += "," }
            text.append(digit)
        }
        return (number < 0 ? "-" : "") + text
    }

    /// The way back to a list.
    static func path(_ section: ConsoleSection, _ call: PageCall) -> Node {
        Tag.p(.classes(.path)) { Node.link(to: section.path) { section.title } }
    }

    // MARK: - Lists

    struct Filter {
        enum Kind {
            case text
            /// - Parameter none: what the empty choice is called.
            case choice([String], none: String = "all")
        }

        let name: String
        let label: String
        let id: ElementID
        let kind: Kind

        init(_ name: String, _ label: String, _ id: ElementID, _ kind: Kind = .text) {
            (self.name, self.label, self.id, self.kind) = (name, label, id, kind)
        }
    }

    /// The form whose fields are the query of the list's address.
    static func filters(_ filters: [Filter], of path: LocalPath, _ call: PageCall) -> Node {
        Tag.form(.classes(.filters), .get, .action(path)) {
            if let environment = call.environment {
                Tag.input(.type(.hidden), .name(EnvironmentSwitch.name), .value(environment.rawValue))
            }
            for filter in filters {
                Tag.div(.classes(.field)) {
                    Tag.label(.label(for: filter.id)) { filter.label }
                    switch filter.kind {
                    case .text:
                        Tag.input(
                            .id(filter.id), .name(filter.name), .type(.text), .value(call.query[filter.name] ?? ""),
                            .unspelled, .uncapitalised, .autocomplete(.off))
                    case .choice(let values, let none):
                        Tag.select(.id(filter.id), .name(filter.name)) {
                            Tag.option(.value("")) { none }
                            for value in values {
                                Tag.option(.value(value), value == call.query[filter.name] ? .selected : nil) {
                                    Node.shown(value)
                                }
                            }
                        }
                    }
                }
            }
            Tag.button(.type(.submit)) { "Filter" }
            if isFiltered(call) { Node.link(to: EnvironmentSwitch.carried(path, call)) { "Show all" } }
        }
    }

    /// Whether a list has other filters than its environment.
    static func isFiltered(_ call: PageCall) -> Bool {
        call.query.names.subtracting([EnvironmentSwitch.name, "environment"]).contains { call.query[$0] != "" }
    }

    /// What comes behind a list: how far back it was read, its next part, and its rows as a file.
    static func more<Item>(
        _ list: DeskList<Item>, of path: LocalPath, hasFile: Bool = false, _ call: PageCall
    ) -> Node {
        let hasFile = hasFile && !list.items.isEmpty
        guard list.next != nil || list.lookedBackTo != nil || hasFile else { return .none }
        return Tag.div(.classes(.more)) {
            if let instant = list.lookedBackTo {
                Tag.span {
                    "Looked back to "
                    call.clock.absolute(instant)
                    "; older rows may fit, too."
                }
            }
            if let next = list.next {
                Tag.a(.classes(.button), .href(again(path, call).with("after", next))) {
                    list.items.isEmpty ? "Look further back" : "Next page"
                }
            }
            if hasFile {
                Tag.a(
                    .href(again(path, call).with("after", nil).with("limit", nil).with("format", "csv")),
                    .title(
                        "At most 10,000 rows, or as many as are found in 8 seconds: a file with fewer than all is called first-part. The audit notes it."
                    )
                ) { "CSV" }
            }
        }
    }

    /// The path with the page's query.
    static func again(_ path: LocalPath, _ call: PageCall) -> LocalPath {
        call.query.names.sorted().reduce(path) { path, name in
            call.query[name] == "" ? path : path.with(name, call.query[name])
        }
    }

    /// A list's rows, or why there are none.
    ///
    /// - Parameter hasFile: whether the list is to be had as CSV.
    static func rows<Item>(
        _ caption: String, _ list: DeskList<Item>, of path: LocalPath, none: String, hasFile: Bool = true,
        _ call: PageCall, _ columns: [Column<Item>]
    ) -> Node {
        let isFiltered = isFiltered(call) || call.environment != nil
        return .group([
            list.items.isEmpty
                ? empty(
                    list.next != nil
                        ? "Nothing fits these filters so far." : isFiltered ? "Nothing fits these filters." : none,
                    isFiltered ? Tag.p { Node.link(to: path) { "Take all filters away" } } : .none)
                : table(caption, list.items, columns),
            more(list, of: path, hasFile: hasFile, call),
        ])
    }
}

/// A question that has no answer.
enum ErrorPage {
    static func page(_ error: DeskError) -> Page {
        let title =
            switch error.status {
            case 403: "Not for this role"
            case 404: "Not found"
            case 410: "Not kept any more"
            case 503: "Not available"
            default: "This cannot be shown"
            }
        return Page(title, status: error.status, retryAfter: error.retryAfter) {
            Tag.h1 { title }
            Tag.div(.classes(.notice, .warn), .role(.alert)) { Tag.p { Node.untrusted(error.message) } }
            if error.status == 503 { Tag.p(.classes(.lead)) { "Trying again may help." } }
        }
    }
}
