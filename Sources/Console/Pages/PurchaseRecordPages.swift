import Base
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// Purchases: the list, and one with its facts, its periods, and what each thing that came changed of it.
enum PurchaseRecordPages {
    static let routes = [
        ConsoleRoute("GET", "/purchases") { call in try call.export("purchases") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/purchases/APP/ENV/ID") { call in .page(try purchase(call)) },
    ]

    private static let mostPeriods = 60
    private static let mostSteps = 40

    private static func badge(_ status: PurchaseStatus) -> Node {
        let text = status.rawValue.replacing("_", with: " ")
        switch status {
        case .active: return PageParts.badge(text, .good)
        case .grace, .billingRetry: return PageParts.badge(text, .warn)
        case .expired: return PageParts.badge(text)
        case .revoked: return PageParts.badge(text, .bad)
        }
    }

    // MARK: - The list

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.purchases(try call.question(PurchasesQuestion.self, of: "purchases")) }
        let path = ConsoleSection.purchases.path
        return Page(
            "Purchases", section: .purchases, hasEnvironment: true,
            command: call.command(
                "purchases list", ["unclaimed": "--unclaimed", "app": "--app", "environment": "--environment"]),
            api: call.api("purchases")
        ) {
            Tag.h1 { "Purchases" }
            Tag.p(.classes(.lead)) {
                "In no order of time: all purchases are scanned, a part with each page. An id or a customer finds theirs at once."
            }
            PageParts.filters(filters(call), of: path, call)
            PageParts.rows(
                "Purchases", list, of: path, none: "Nothing was bought yet.", call,
                [
                    Column("Product") { row in
                        Node.link(to: ConsolePath.purchase(row.purchase.key)) {
                            Node.untrusted(row.purchase.latest.productID)
                        }
                    },
                    Column("Status") { row in badge(row.purchase.status(at: call.clock.now)) },
                    Column("Until") { row in
                        row.purchase.accessUntil.map { call.clock.time($0) } ?? .text("for ever")
                    },
                    Column("Customer") { row in customer(row.owner, shown: 24, call) ?? .none },
                    Column("App", text: { $0.purchase.key.app }),
                    Column("Environment") { row in PageParts.badge(row.purchase.key.environment) },
                    Column("Transaction") { row in
                        .identifier(row.purchase.key.originalTransactionID, shown: 20)
                    },
                ])
        }
    }

    private static func filters(_ call: PageCall) -> [PageParts.Filter] {
        let ids: [PageParts.Filter] = [.init("id", "Transaction", .transaction)]
        let owner: [PageParts.Filter] = call.sees(.customers) ? [.init("customer", "Customer", .customer)] : []
        let rest: [PageParts.Filter] = [
            .init("status", "Status", .status, .choice(PurchaseStatus.allCases.map(\.rawValue))),
            .init("product", "Product", .product), .init("app", "App", .app),
            .init("unclaimed", "Unclaimed", .claim, .choice(["true"])),
            .init("ends_after", "Ends after", .endsAfter), .init("ends_before", "Ends before", .endsBefore),
            .init("refunded_since", "Refunded since", .refundedSince),
            .init("refunded_until", "Refunded before", .refundedUntil),
        ]
        return ids + owner + rest
    }

    private static func customer(_ id: String?, shown: Int, _ call: PageCall) -> Node? {
        id.map { PageParts.link(ConsolePath.customer($0), .customers, call, .identifier($0, shown: shown)) }
    }

    // MARK: - One

    private static func purchase(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        guard let environment = StoreEnvironment(rawValue: call.parameter("ENV")) else {
            throw DeskError.notFound("There is no environment \(call.parameter("ENV")).")
        }
        let key = PurchaseKey(
            app: call.parameter("APP"), environment: environment, originalTransactionID: call.parameter("ID"))
        let (answer, steps) = try call.ask { (try $0.purchase(key), try $0.steps(of: key)) }
        let purchase = answer.row.purchase
        let id = key.originalTransactionID
        return Page(
            purchase.latest.productID, section: .purchases,
            command: call.sees(.customers) ? "customers show \(PageCall.argument(id))" : nil,
            api: LocalPath("operator", "v1", "purchases", key.app, environment.rawValue, id)
        ) {
            PageParts.path(.purchases, call)
            Tag.h1 {
                Node.untrusted(answer.explanation.title)
                " "
                badge(purchase.status(at: call.clock.now))
            }
            Tag.p(.classes(.lead)) {
                Node.identifier(id, shown: 40)
                " of "
                Node.untrusted(key.app)
                " "
                PageParts.badge(environment)
            }
            if let owner = customer(answer.customer, shown: 40, call) {
                Tag.p(.classes(.more)) {
                    "Bought by "
                    owner
                }
            }
            if !key.isGrant {
                call.changes(
                    purchase.latest.transaction.isRenewable
                        ? [.claim, .purchaseExtend, .statusPoll] : [.claim, .statusPoll],
                    of: ["app": key.app, "environment": environment.rawValue, "id": id])
            }
            Tag.h2 { "What it is" }
            PageParts.facts(answer.explanation.lines.map { ($0.label.capitalisedStart, .untrusted($0.text)) })
            periods(purchase, call)
            changes(steps, key, call)
        }
    }

    private static func periods(_ purchase: Purchase, _ call: PageCall) -> Node {
        let periods = Array(purchase.periods.reversed())
        return .group([
            Tag.h2 { periods.count == 1 ? "What was paid" : "Periods" },
            PageParts.table(
                "Each as Apple signed it last, the newest first", Array(periods.prefix(mostPeriods)),
                [
                    Column("No.") { row in .text(String(row.number)) },
                    Column("Product", text: { $0.productID }),
                    Column("Kind", text: { $0.type.spoken }),
                    Column("Bought") { row in call.clock.time(row.transaction.purchaseDate) },
                    Column("Ends") { row in PageParts.time(row.transaction.expiresDate, call) },
                    Column("Price", isNumber: true, text: { DisplayText.amount(of: $0) }),
                    Column("Offer", text: { $0.transaction.offerIdentifier }),
                    Column("Taken back") { row in PageParts.time(row.revocation?.date, call) },
                    Column("Transaction") { row in .identifier(row.id, shown: 20) },
                    Column("Signed") { row in call.clock.absolute(row.transaction.signedDate) },
                ]),
            periods.count > mostPeriods
                ? Tag.p(.classes(.more)) { "The newest \(mostPeriods) of \(periods.count)." } : .none,
        ])
    }

    private static func changes(_ steps: [TimelineRow]?, _ key: PurchaseKey, _ call: PageCall) -> Node {
        .group([
            call.sees(.customers)
                ? .group([
                    Tag.h2 { "Notifications and their changes" },
                    steps.map { steps in
                        steps.isEmpty
                            ? PageParts.empty("Nothing that came is kept any more.")
                            : Tag.ol(.classes(.steps)) {
                                for row in steps.prefix(mostSteps) { CustomerPages.step(row, call) }
                            }
                    } ?? PageParts.empty("It has too many notifications for a step each; the lists below have all."),
                ]) : .none,
            Tag.p(.classes(.more)) {
                if let steps, steps.count > mostSteps {
                    Tag.span { "The newest \(mostSteps) of \(steps.count)." }
                }
                PageParts.link(
                    ConsoleSection.notifications.path.with("purchase", key.originalTransactionID)
                        .with("app", key.app), .notifications, call, .text("Notifications about it"))
                PageParts.link(
                    ConsoleSection.events.path.with("purchase", key.originalTransactionID), .events, call,
                    .text("Events about it"))
            },
        ])
    }
}
