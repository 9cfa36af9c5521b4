import Base
import Database
import HTTP
import Markup
import Operator
import Subscriptions

/// Customers: the list of the newest, and one with what they have, why, and what happened.
enum CustomerPages {
    static let routes = [
        ConsoleRoute("GET", "/customers") { call in try call.export("customers") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/customers/ID") { call in .page(try customer(call)) },
        ConsoleRoute("GET", "/customers/ID/notes") { call in .page(try notes(call)) },
    ]

    // MARK: - The list

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.customers(try call.question(CustomersQuestion.self, of: "customers")) }
        let path = ConsoleSection.customers.path
        return Page(
            "Customers", section: .customers,
            command: call.command("customers list", ["since": "--since", "until": "--until", "limit": "--limit"]),
            api: call.api("customers")
        ) {
            Tag.h1 { "Customers" }
            Tag.p(.classes(.lead)) { "The newest first. Search finds one by any id." }
            PageParts.filters(
                [.init("since", "First seen since", .since), .init("until", "First seen until", .until)], of: path, call
            )
            if ["since", "until"].contains(where: { call.query[$0]?.isEmpty == false }) { call.many([.grant]) }
            call.granting(list.items.map(\.customer.originalAppUserID))
            PageParts.rows(
                "Customers by when they were first seen", list, of: path, none: "There is no customer yet.", call,
                [
                    Column("Customer") { row in
                        Node.link(to: ConsolePath.customer(row.customer.originalAppUserID)) {
                            Node.identifier(row.customer.originalAppUserID, shown: 40)
                        }
                    },
                    Column("Kind") { row in .text(row.customer.isAnonymous ? "anonymous" : "named") },
                    Column("Ids", isNumber: true) { row in .text(String(row.customer.appUserIDs.count)) },
                    Column("First seen") { row in call.clock.time(row.customer.firstSeen) },
                ])
        }
    }

    // MARK: - One

    private static func customer(_ call: PageCall) throws -> Page {
        let id = call.parameter("ID")
        let (answer, timeline, order, notes) = try call.ask { desk in
            let question = try call.question(TimelineQuestion.self, of: "timeline of \(id)")
            let answer = try desk.customer(id)
            return (
                answer, try desk.timeline(of: id, question), question.order,
                try desk.newestNotes(of: answer.profile.appUserIDs)
            )
        }
        let original = answer.profile.originalAppUserID
        return Page(
            original, section: .customers, command: "customers show \(PageCall.argument(original))",
            api: LocalPath("operator", "v1", "customers", original)
        ) {
            PageParts.path(.customers, call)
            Tag.h1 { Node.identifier(original, shown: 48) }
            head(answer, call)
            entitlements(answer)
            call.changes([.grant, .revoke, .transfer, .alias, .customerDelete], of: ["id": original])
            forCustomer(answer)
            Tag.div(.classes(.columns)) {
                purchases(answer)
                Tag.section {
                    ids(answer, call)
                    attributes(answer, call)
                    CustomerPages.notes(notes, of: original, call)
                }
            }
            steps(timeline, order, of: original, call)
        }
    }

    private static func head(_ answer: CustomerAnswer, _ call: PageCall) -> Node {
        let resolved = answer.resolved
        return .group([
            Tag.p(.classes(.lead)) {
                "First seen "
                call.clock.time(answer.profile.firstSeen)
                ", last seen "
                call.clock.time(answer.profile.lastSeen)
                "."
                if let spent = spent(answer.spending) { " \(spent)." }
            },
            resolved.match != .exact && resolved.match != nil
                ? Tag.div(.classes(.notice)) {
                    Tag.p {
                        Node.untrusted(resolved.given)
                        " is "
                        Node.untrusted(resolved.appUserID ?? "")
                        resolved.match == .purchase
                            ? ": a purchase of theirs is known by it." : ": it differs in case only."
                    }
                } : .none,
        ])
    }

    private static func spent(_ spending: Spending) -> String? {
        let parts = spending.totals.compactMap { total -> String? in
            guard let currency = total.currency, total.environment == .production else { return nil }
            let paid = Money.text(milliunits: total.paid, currency: currency)
            let back =
                total.refunded > 0 ? ", \(Money.text(milliunits: total.refunded, currency: currency)) went back" : ""
            return "\(paid) \(currency)\(back)"
        }
        return parts.isEmpty ? nil : "Paid " + parts.joined(separator: "; ")
    }

    private static func entitlements(_ answer: CustomerAnswer) -> Node {
        let entitlements = answer.explanation.entitlements
        guard !entitlements.isEmpty else {
            return PageParts.empty("No entitlement is configured, so that purchases give none.")
        }
        return Tag.div(.classes(.cards)) {
            for entitlement in entitlements {
                Tag.section(.classes(.card, kind(entitlement))) {
                    Tag.h2 {
                        Node.untrusted(entitlement.name)
                        " "
                        PageParts.badge(entitlement.isActive ? "active" : "not active", kind(entitlement))
                    }
                    Tag.p(.classes(.why)) { Node.untrusted(entitlement.sentence.capitalisedStart + ".") }
                }
            }
        }
    }

    /// What may be told to the customer as it is.
    private static func forCustomer(_ answer: CustomerAnswer) -> Node {
        let sentences = answer.explanation.entitlements.map(\.customerSentence)
        // Where not every purchase was looked at, it may be otherwise.
        guard !sentences.isEmpty, !answer.isCut, answer.unread.isEmpty else { return .none }
        return Tag.details(.classes(.card)) {
            Tag.summary { "Copy for the customer" }
            Tag.p { Node.untrusted(sentences.joined(separator: " ")) }
        }
    }

    /// The newest notes, and the way to older ones.
    private static func notes(_ notes: ListPage<NoteRow>, of id: String, _ call: PageCall) -> Node {
        .group([
            Tag.h2 { "Notes" },
            notes.rows.isEmpty ? PageParts.empty("No operator noted anything.") : steps(of: notes.rows, of: id, call),
            notes.next == nil
                ? .none
                : Tag.p(.classes(.more)) { Node.link(to: ConsolePath.notes(id)) { "All notes" } },
            call.changes([.note], of: ["id": id]),
        ])
    }

    private static func steps(of notes: [NoteRow], of id: String, _ call: PageCall) -> Node {
        Tag.ol(.classes(.steps)) {
            for note in notes {
                Tag.li(.classes(.step)) {
                    Node.lines(note.text, spoken: "Note of \(note.author)")
                    Tag.p(.classes(.quiet)) {
                        Node.untrusted(note.author)
                        " "
                        call.clock.time(note.made)
                        if note.author == call.viewer?.name {
                            " "
                            Node.link(to: ConsolePath.newChange(.noteRemove, ["id": id, "note": String(note.id)])) {
                                "Remove …"
                            }
                        }
                    }
                }
            }
        }
    }

    /// All notes on a customer, a page of them.
    private static func notes(_ call: PageCall) throws -> Page {
        let id = call.parameter("ID")
        let (list, original) = try call.ask { desk in
            let question = try call.question(NotesQuestion.self, of: "notes of \(id)")
            return (try desk.notes(of: id, question), try desk.customer(id).profile.originalAppUserID)
        }
        return Page(
            "Notes on \(original)", section: .customers, command: "notes list \(PageCall.argument(original))",
            api: LocalPath("operator", "v1", "customers", original, "notes")
        ) {
            Tag.p {
                Node.link(to: ConsolePath.customer(original)) {
                    "Back to "
                    Node.identifier(original, shown: 48)
                }
            }
            Tag.h1 { "Notes" }
            if list.items.isEmpty {
                PageParts.empty("No operator noted anything.")
            } else {
                steps(of: list.items, of: original, call)
            }
            PageParts.more(list, of: ConsolePath.notes(original), hasFile: false, call)
            call.changes([.note], of: ["id": original])
        }
    }

    private static func kind(_ entitlement: EntitlementExplanation) -> StyleClass {
        switch entitlement.because {
        case .given(.grace): .warn
        case .given: .good
        default: .quiet
        }
    }

    private static func purchases(_ answer: CustomerAnswer) -> Node {
        Tag.section {
            Tag.h2 { "Purchases" }
            if answer.explanation.purchases.isEmpty && answer.explanation.oneTimePurchases.isEmpty {
                PageParts.empty("Nothing was bought.")
            }
            for purchase in answer.explanation.purchases {
                Tag.details(.classes(.card), purchase == answer.explanation.purchases.last ? .open : nil) {
                    Tag.summary { Tag.strong { Node.untrusted(purchase.title) } }
                    PageParts.facts(purchase.lines.map { ($0.label, .untrusted($0.text)) })
                }
            }
            for purchase in answer.explanation.oneTimePurchases {
                Tag.div(.classes(.card)) {
                    Tag.strong { Node.untrusted(purchase.productID) }
                    Tag.p {
                        Node.untrusted([purchase.state, purchase.price].compactMap(\.self).joined(separator: ", "))
                    }
                }
            }
        }
    }

    private static func ids(_ answer: CustomerAnswer, _ call: PageCall) -> Node {
        .group([
            Tag.h2 { "Ids" },
            Tag.ul(.classes(.chips)) {
                for id in answer.profile.appUserIDs { Tag.li { Node.identifier(id, shown: 40) } }
            },
            Tag.p(.classes(.more)) {
                PageParts.link(
                    ConsoleSection.events.path.with("customer", answer.profile.originalAppUserID), .events, call,
                    .text("Events"))
                PageParts.link(
                    ConsoleSection.deliveries.path.with("customer", answer.profile.originalAppUserID), .deliveries,
                    call,
                    .text("Deliveries"))
            },
        ])
    }

    private static func attributes(_ answer: CustomerAnswer, _ call: PageCall) -> Node {
        guard !answer.attributes.isEmpty else { return .none }
        return .group([
            Tag.h2 { "Attributes" },
            PageParts.table(
                "Attributes that apps and backends set", answer.attributes,
                [
                    Column("Key", text: { $0.key }),
                    Column("Value") { row in
                        row.view == .whole
                            ? .untrusted(row.value)
                            : Tag.span(
                                .classes(.masked),
                                .title(row.view == .masked ? "Masked for this role" : "Hidden from this role")
                            ) { Node.untrusted(row.value) }
                    },
                    Column("Set") { row in call.clock.time(row.updated) },
                ]),
        ])
    }

    // MARK: - What happened

    private static func steps(
        _ list: DeskList<TimelineRow>, _ order: TimelineOrder, of id: String, _ call: PageCall
    ) -> Node {
        let path = ConsolePath.customer(id)
        return Tag.section {
            Tag.h2 { "Timeline" }
            Tag.p(.classes(.switcher), .role(.group), .spoken("Order of the timeline")) {
                Tag.a(.href(path), order == .happened ? .current : nil) { "What happened" }
                Tag.a(.href(path.with("order", "heard")), order == .heard ? .current : nil) { "As heard" }
            }
            if list.items.isEmpty {
                PageParts.empty("Nothing happened yet.")
            } else {
                Tag.ol(.classes(.steps)) { for row in list.items { step(row, call) } }
            }
            PageParts.more(list, of: path, call)
        }
    }

    static func step(_ row: TimelineRow, _ call: PageCall) -> Node {
        let entry = row.entry
        return Tag.li(.classes(.step)) {
            Tag.div {
                Tag.strong { title(entry, call) }
                if let product = entry.productID {
                    " "
                    Tag.span(.classes(.quiet)) { Node.untrusted(product) }
                }
                if entry.purchase?.environment == .sandbox {
                    " "
                    PageParts.badge(.sandbox)
                }
            }
            Tag.div {
                call.clock.time(entry.date(in: row.order))
                if entry.isLate {
                    Tag.small {
                        row.order == .happened ? " · heard " : " · signed "
                        call.clock.time(row.order == .happened ? entry.instant : entry.signed ?? entry.instant)
                    }
                }
            }
            for change in entry.changes { Tag.p { Node.untrusted(change.sentence) } }
            for event in entry.events { events(event, call) }
        }
    }

    private static func title(_ entry: TimelineEntry, _ call: PageCall) -> Node {
        guard case .notification(let fact) = entry.kind, let purchase = entry.purchase else {
            return .untrusted(entry.title)
        }
        return PageParts.link(
            ConsolePath.notification(app: purchase.app, environment: purchase.environment, uuid: fact.uuid),
            .notifications, call, .untrusted(entry.title))
    }

    private static func events(_ event: TimelineEntry.Event, _ call: PageCall) -> Node {
        Tag.div(.classes(.chips)) {
            Tag.span(.classes(.chip)) {
                if event.trace == nil {
                    Node.untrusted(event.type)
                } else {
                    PageParts.link(ConsolePath.event(event.id), .events, call, .untrusted(event.type))
                }
            }
            for delivery in event.trace?.deliveries ?? [] {
                Tag.span {
                    PageParts.link(
                        ConsolePath.endpoint(delivery.endpoint), .endpoints, call,
                        .identifier(delivery.endpoint, shown: 16))
                    " "
                    PageParts.badge(deliveryState: delivery.state)
                    if delivery.state != "delivered", let status = delivery.lastStatus {
                        " "
                        Tag.small { "HTTP \(status)" }
                    }
                }
            }
        }
    }
}

extension String {
    var capitalisedStart: String { prefix(1).uppercased() + dropFirst() }
}
