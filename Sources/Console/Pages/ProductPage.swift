import Base
import Database
import Markup
import Operator
import Subscriptions

/// Products: what was bought, what it gives, and what of the configuration does not fit to it.
enum ProductPage {
    static let routes = [ConsoleRoute("GET", "/products") { call in .page(try page(call)) }]

    private static let mostRows = 150

    private static func page(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let (list, findings) = try call.ask { (try $0.products(), try $0.catalogueFindings()) }
        let rows = list.items.filter { call.environment == nil || $0.product.environment == call.environment }
        return Page(
            "Products", section: .products, hasEnvironment: true, command: "products list", api: call.api("products")
        ) {
            Tag.h1 { "Products" }
            Tag.p(.classes(.lead)) {
                "What was bought, and which entitlements the configuration says that it gives."
            }
            check(findings)
            if rows.isEmpty {
                PageParts.empty(
                    call.environment == nil ? "Nothing was bought yet." : "Nothing was bought in this environment yet.")
            } else {
                PageParts.table("Products, by app", Array(rows.prefix(mostRows)), columns(call))
                if rows.count > mostRows {
                    Tag.p(.classes(.more)) { "The first \(mostRows) of \(rows.count); the API's answer has all." }
                }
            }
        }
    }

    private static func columns(_ call: PageCall) -> [Column<ProductRow>] {
        [
            Column("Product") { row in
                PageParts.link(
                    ConsoleSection.purchases.path.with("product", row.product.productID).with("app", row.product.app)
                        .with(EnvironmentSwitch.name, row.product.environment.rawValue), .purchases, call,
                    .untrusted(row.product.productID))
            },
            Column("Gives") { row in
                row.entitlements.isEmpty
                    ? PageParts.badge("nothing", row.product.kind == "Consumable" ? nil : .bad)
                    : .untrusted(row.entitlements.joined(separator: ", "))
            },
            Column("Type", text: { $0.product.kind.isEmpty ? nil : $0.product.kind }),
            Column("Group", text: { $0.product.group }),
            Column("App", text: { $0.product.app }),
            Column("Environment") { row in PageParts.badge(row.product.environment) },
            Column("First bought") { row in call.clock.time(row.firstSeen) },
        ]
    }

    private static func check(_ findings: [CatalogueCheck.Finding]) -> Node {
        guard !findings.isEmpty else {
            return Tag.div(.classes(.notice, .good), .role(.status)) {
                Tag.p { "Products, entitlements and offerings fit together." }
            }
        }
        return .group([
            .group(
                findings.prefix(20).map { finding in
                    let kind: StyleClass = finding.severity == .error ? .bad : .warn
                    return Tag.div(.classes(.notice, kind)) {
                        Tag.p {
                            Tag.strong(.classes(kind)) { finding.severity == .error ? "Error: " : "Warning: " }
                            Node.untrusted(finding.message)
                        }
                    }
                }),
            findings.count > 20
                ? Tag.p(.classes(.more)) { "The gravest 20 of \(findings.count); `entitled catalog check` has all." }
                : .none,
        ])
    }
}
