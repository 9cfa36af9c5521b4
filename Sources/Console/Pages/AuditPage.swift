import Base
import Database
import Markup
import Operator

/// The audit: what operators did, and what was refused to them.
enum AuditPage {
    static let routes = [
        ConsoleRoute("GET", "/audit") { call in try call.export("audit") ?? .page(try audit(call)) }
    ]

    private static func title(ofEntry kind: String) -> String {
        switch AuditTable.Look(rawValue: kind) {
        case .export: "Export a list"
        case .customerExport: "Export rows of a customer"
        case nil: ChangeKind(rawValue: kind)?.title ?? kind
        }
    }

    private static func audit(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.audit(try call.question(AuditQuestion.self, of: "audit")) }
        return Page("Audit", section: .audit, api: call.api("audit")) {
            Tag.h1 { "Audit" }
            Tag.p(.classes(.lead)) {
                call.viewer?.role == .operator
                    ? "What operators did, and what was refused to them; the newest first."
                    : "What you did, and what was refused to you; the newest first."
            }
            PageParts.filters(
                [
                    .init("kind", "What", .type, .choice(AuditQuestion.kinds)),
                    .init("actor", "Operator", .name), .init("target", "About", .customer),
                    .init("since", "Since", .since), .init("until", "Until", .until),
                ], of: ConsoleSection.audit.path, call)
            PageParts.rows(
                "Changes, the newest first", list, of: ConsoleSection.audit.path, none: "Nothing was changed yet.",
                call,
                [
                    Column("When") { row in call.clock.time(row.at) },
                    Column("Operator", text: \.actor),
                    Column("What") { row in
                        let title = AuditPage.title(ofEntry: row.kind)
                        return row.job.map { job in Node.link(to: ConsolePath.change(job)) { title } } ?? .text(title)
                    },
                    Column("About") { row in .identifier(row.target, shown: 32) },
                    Column("Outcome") { row in
                        PageParts.badge(row.outcome, row.outcome == "done" ? .good : .bad)
                    },
                    Column("Reason", text: \.reason), Column("Details", text: \.message),
                    Column("From", text: \.address),
                    Column("Job", isNumber: true) { row in
                        row.job.map { job in Node.link(to: ConsolePath.job(job)) { String(job) } } ?? .none
                    },
                ])
        }
    }
}
