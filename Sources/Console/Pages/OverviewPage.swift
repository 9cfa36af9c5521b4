import Base
import HTTP
import Markup
import Operator

/// The installation at a glance: what needs an operator first.
enum OverviewPage {
    static let routes = [ConsoleRoute("GET", "/") { call in .page(try page(call)) }]

    private static func page(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call)
        let overview = try call.ask { try $0.overview() }
        return Page("Overview", section: .overview, hasEnvironment: true, command: "doctor", api: call.api("overview"))
        {
            Tag.h1 { "Overview" }
            findings(overview.findings, call)
            Tag.div(.classes(.cards)) {
                notifications(overview, call)
                webhooks(overview, call)
                work(overview, call)
            }
            let sources = overview.sources.filter { call.environment == nil || $0.environment == call.environment }
            if !sources.isEmpty {
                Tag.h2 { "Last heard from Apple" }
                PageParts.table(
                    "The newest notification of each app and environment", sources,
                    [
                        Column("App", text: { $0.app }),
                        Column("Environment") { PageParts.badge($0.environment) },
                        Column("Received") { source in
                            source.lastReceived.map { call.clock.time($0) }
                                ?? Tag.span(.classes(.quiet)) { "none within 45 days" }
                        },
                    ])
            }
        }
    }

    static func findings(_ findings: [DeskFinding], _ call: PageCall) -> Node {
        guard !findings.isEmpty else {
            return Tag.div(.classes(.notice, .good), .role(.status)) { Tag.p { "Nothing needs an operator." } }
        }
        return .group(
            findings.map { finding in
                let path = ConsolePath.section(finding.section, id: finding.id)
                return Tag.div(.classes(.notice, finding.level == .error ? .bad : .warn)) {
                    Tag.p {
                        Tag.strong(.classes(finding.level == .error ? .bad : .warn)) {
                            finding.level == .error ? "Error: " : "Warning: "
                        }
                        Node.untrusted(finding.text)
                        if let path, call.sees(finding.section) {
                            " "
                            Node.link(to: path) { "Show \(finding.section.rawValue)" }
                        }
                    }
                }
            })
    }

    private static func card(_ title: String, _ kind: StyleClass?, @MarkupBuilder _ content: () -> [Node]) -> Node {
        Tag.section(kind.map { .classes(.card, $0) } ?? .classes(.card)) {
            Tag.h2 { title }
            content()
        }
    }

    private static func figure(
        _ text: String, _ unit: String, _ section: ConsoleSection, state: String? = nil, _ call: PageCall
    ) -> Node {
        Tag.p(.classes(.figure)) {
            PageParts.link(section.path.with("state", state), section.desk, call, .text(text))
            " "
            Tag.small { unit }
        }
    }

    private static func notifications(_ overview: Overview, _ call: PageCall) -> Node {
        card("Notifications", overview.held.value > 0 ? .warn : nil) {
            figure(PageParts.count(overview.held), "held", .notifications, state: "held", call)
            Tag.p(.classes(.quiet)) {
                if let oldest = overview.oldestPending {
                    "\(PageParts.count(overview.pending)) waiting since "
                    call.clock.time(oldest)
                    if let most = overview.waitingLanes.first {
                        let lanes = overview.waitingLanes.count
                        ", in \(lanes) \(lanes == 1 ? "lane" : "lanes"); the most in lane \(most.lane): "
                        PageParts.count(most.pending)
                    }
                } else {
                    "All others are applied."
                }
            }
        }
    }

    private static func webhooks(_ overview: Overview, _ call: PageCall) -> Node {
        card("Webhooks", overview.failingEndpoints.isEmpty ? nil : .bad) {
            figure(PageParts.count(overview.duePending), "due", .deliveries, state: "pending", call)
            Tag.p(.classes(.quiet)) { "\(PageParts.count(overview.heldDeliveries)) held" }
            for endpoint in overview.failingEndpoints.prefix(5) {
                Tag.p {
                    PageParts.link(ConsolePath.endpoint(endpoint), .endpoints, call, .identifier(endpoint))
                    " fails"
                }
            }
        }
    }

    private static func work(_ overview: Overview, _ call: PageCall) -> Node {
        card("Work", overview.ownedLanes < overview.lanes ? .bad : nil) {
            Tag.p(.classes(.figure)) {
                "\(overview.workers) "
                Tag.small { overview.workers == 1 ? "worker" : "workers" }
            }
            Tag.p(.classes(.quiet)) {
                "\(overview.ownedLanes) of \(overview.lanes) lanes have one. "
                PageParts.link(
                    ConsoleSection.jobs.path.with("state", "running"), .jobs, call,
                    .text(
                        overview.runningJobs.value == 1
                            ? "1 job runs" : "\(PageParts.count(overview.runningJobs)) jobs run"))
                "."
            }
            Tag.p(.classes(.quiet)) {
                PageParts.link(
                    ConsoleSection.refunds.path, .refunds, call,
                    .text("Open refund questions: \(PageParts.count(overview.openRefunds))"))
                if let deadline = overview.nextRefundDeadline {
                    "; the next is over "
                    call.clock.time(deadline)
                }
            }
        }
    }
}

extension DeskParameters {
    /// Checks that a page without parameters got none.
    ///
    /// - Parameter names: of those that it may have.
    static func none(_ call: PageCall, but names: String...) throws(DeskError) {
        var parameters = try DeskParameters(query: try call.listQuery(of: "page"), of: "page")
        for name in names { _ = parameters.text(name) }
        try parameters.finish()
    }
}
