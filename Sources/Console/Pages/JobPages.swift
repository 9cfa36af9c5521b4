import Base
import Database
import HTTP
import Markup
import Operator

/// Jobs: long work and changes of operators, how far they are, and what came of them.
enum JobPages {
    static let routes = [
        ConsoleRoute("GET", "/jobs") { call in try call.export("jobs") ?? .page(try list(call)) },
        ConsoleRoute("GET", "/jobs/NUMBER") { call in .page(try job(call)) },
    ]

    /// Seconds after which the page of a job that runs is loaded again.
    private static let pause = 5

    static func title(_ kind: String) -> String {
        switch kind {
        case "webhooks": "Send webhooks again"
        case "history": "Read Apple's history again"
        case "import": "Import"
        default: ChangeKind(rawValue: kind)?.title ?? kind
        }
    }

    private static func badge(_ state: Job.State) -> Node {
        switch state {
        case .running: PageParts.badge("running", .warn)
        case .done: PageParts.badge("done", .good)
        case .cancelled: PageParts.badge("cancelled")
        case .failed: PageParts.badge("failed", .bad)
        }
    }

    private static func percent(_ job: Job) -> Int { Int((min(1, max(0, job.fraction)) * 100).rounded(.down)) }

    private static func isChange(_ job: Job) -> Bool { ChangeKind(rawValue: job.kind) != nil }

    /// Whether it is a change of one step.
    private static func isOneStep(_ job: Job) -> Bool { ChangeKind(rawValue: job.kind).map { !$0.isBulk } ?? false }

    // MARK: - The list

    private static func list(_ call: PageCall) throws -> Page {
        let list = try call.ask { try $0.jobs(try call.question(JobsQuestion.self, of: "jobs")) }
        let path = ConsoleSection.jobs.path
        return Page("Jobs", section: .jobs, command: "replay list", api: call.api("jobs")) {
            Tag.h1 { "Jobs" }
            Tag.p(.classes(.lead)) { "Replays, imports and changes that operators asked for; the newest first." }
            call.forms([.replayWebhooks, .replayHistory])
            PageParts.filters(
                [.init("state", "State", .state, .choice(Job.State.allCases.map(\.rawValue)))], of: path, call)
            PageParts.rows(
                "Jobs, the newest first", list, of: path,
                none: "No job was begun yet. Replays, imports and changes of operators are jobs.", call,
                [
                    Column("Job") { row in
                        Node.link(to: ConsolePath.job(row.id)) { Node.untrusted(title(row.kind)) }
                    },
                    Column("No.", isNumber: true) { row in .text(String(row.id)) },
                    Column("State") { row in badge(row.state) },
                    Column("Done", isNumber: true) { row in
                        isOneStep(row) || row.state == .done ? .none : .text("\(percent(row)) %")
                    },
                    Column("Found", isNumber: true, text: { count($0, $0.counts.matched) }),
                    Column("In line", isNumber: true, text: { count($0, $0.counts.queued) }),
                    Column("Left out", isNumber: true, text: { count($0, $0.counts.skipped) }),
                    Column("Asked by", text: \.madeBy), Column("Begun") { row in call.clock.time(row.created) },
                    Column("Ended") { row in PageParts.time(row.finished, call) },
                ])
        }
    }

    /// Of one step there is nothing to count.
    private static func count(_ job: Job, _ number: Int64) -> String? {
        isOneStep(job) ? nil : PageParts.grouped(number)
    }

    // MARK: - One

    private static func job(_ call: PageCall) throws -> Page {
        try DeskParameters.none(call, but: "refresh")
        guard let number = Int64(call.parameter("NUMBER")) else {
            throw DeskError.notFound("\(call.parameter("NUMBER")) is not the number of a job.")
        }
        let answer = try call.ask { try $0.job(number) }
        let job = answer.job
        let isWatched = job.state == .running && call.query["refresh"] != "off"
        return Page(
            "Job \(number)", section: call.sees(.jobs) ? .jobs : nil, refresh: isWatched ? pause : nil,
            command: isChange(job) ? nil : "replay show \(number)",
            api: LocalPath("operator", "v1", "jobs", String(number))
        ) {
            if call.sees(.jobs) { PageParts.path(.jobs, call) }
            Tag.h1 {
                Node.untrusted(title(job.kind))
                " "
                badge(job.state)
            }
            Tag.p(.classes(.lead)) {
                "Job \(number), asked for by "
                Node.untrusted(job.madeBy)
                " "
                call.clock.time(job.created)
            }
            if let error = job.error {
                Tag.div(.classes(.notice, .bad), .role(.alert)) { Tag.p { Node.untrusted(error) } }
            }
            if let note = note(answer) { Tag.p(.classes(.lead)) { note } }
            if job.state == .running { progress(job, isWatched: isWatched) }
            if !isOneStep(job) {
                counts(job)
                if job.state == .running { call.changes([.jobCancel], of: ["id": String(number)]) }
            }
            if !answer.skipped.isEmpty {
                Tag.h2 { "Left out" }
                PageParts.facts(ChangePages.facts(answer.skipped))
            }
            if let deliveries = answer.deliveries, !deliveries.isEmpty {
                Tag.h2 { "Deliveries" }
                PageParts.facts(ChangePages.facts(deliveries))
            }
            facts(answer, call)
            if let page = answer.change.flatMap({ change in
                ConsolePath.subject(change.change.kind, target: change.change.target, change.parameters)
            }) {
                Tag.p { Node.link(to: page) { "To what it is about" } }
            }
            if job.parameters != .null, job.parameters != .object([]) {
                Tag.details(.classes(.card)) {
                    Tag.summary { "As it was asked for" }
                    Node.json(job.parameters, spoken: "Parameters of the job")
                }
            }
        }
    }

    private static func progress(_ job: Job, isWatched: Bool) -> Node {
        .group([
            isOneStep(job)
                ? .none
                : Tag.progress(.value(String(percent(job))), .most(100), .spoken("Done")) { "\(percent(job)) %" },
            Tag.div(.classes(.notice), .role(.status)) {
                Tag.p {
                    isOneStep(job) ? "A worker has not done it yet. " : "\(percent(job)) % are done. "
                    if isWatched {
                        "This page loads itself again every \(pause) seconds. "
                        Node.link(to: ConsolePath.job(job.id).with("refresh", "off")) { "Stop that" }
                    } else {
                        Node.link(to: ConsolePath.job(job.id)) { "Load it again, and go on doing so" }
                    }
                }
            },
        ])
    }

    private static func isGivingUp(_ job: Job) -> Bool {
        [.bulkGiveUp, .customerGiveUp].contains(ChangeKind(rawValue: job.kind))
    }

    /// Whether a job reads Apple's history.
    private static func readsHistory(_ job: Job) -> Bool {
        job.kind == Job.historyKind || ChangeKind(rawValue: job.kind)?.readsHistory == true
    }

    private static func isOnlyCounting(_ job: Job) -> Bool {
        readsHistory(job) && job.parameters["dry_run"] == .bool(true)
    }

    /// What a job does otherwise than others of its kind.
    private static func note(_ answer: JobAnswer) -> String? {
        isOnlyCounting(answer.job) ? "It only counts what Apple has; nothing is stored." : nil
    }

    private static func queued(_ job: Job) -> (title: String, text: String) {
        if isGivingUp(job) { return ("Given up", "not tried any more") }
        if ChangeKind(rawValue: job.kind) == .bulkGrant { return ("Granted", "customers got it") }
        if isOnlyCounting(job) { return ("Missing here", "of what Apple has") }
        return readsHistory(job) ? ("New", "applied by workers") : ("Put in line", "sent or applied by workers")
    }

    private static func skipped(_ job: Job) -> String {
        if ChangeKind(rawValue: job.kind) == .bulkGrant { return "customers who were left out, by reason below" }
        return readsHistory(job)
            ? "not signed by Apple, or of no app here" : "cannot be sent or applied any more"
    }

    private static func counts(_ job: Job) -> Node {
        let queued = queued(job)
        let figures: [(title: String, number: Int64, text: String, kind: StyleClass?)] = [
            ("Found", job.counts.matched, "what was asked for, so far", nil),
            (queued.title, job.counts.queued, queued.text, nil),
            ("Left out", job.counts.skipped, skipped(job), job.counts.skipped > 0 ? .warn : nil),
        ]
        return Tag.div(.classes(.cards)) {
            for figure in figures {
                Tag.section(figure.kind.map { .classes(.card, $0) } ?? .classes(.card)) {
                    Tag.h2 { figure.title }
                    Tag.p(.classes(.figure)) { PageParts.grouped(figure.number) }
                    Tag.p(.classes(.quiet)) { figure.text }
                }
            }
        }
    }

    private static func facts(_ answer: JobAnswer, _ call: PageCall) -> Node {
        let job = answer.job
        return .group([
            Tag.h2 { "Job" },
            PageParts.facts([
                ("What for", answer.change.map { .untrusted($0.change.reason) }),
                ("About", answer.change.map { .identifier($0.change.target, shown: 64) }),
                (
                    "Outcome",
                    answer.change.map { change in
                        Node.link(to: ConsolePath.change(change.change.id)) { "Show the outcome" }
                    }
                ),
                ("Request", isChange(job) ? nil : .untrusted(job.request)),
                ("Rate", job.rate.map { .text("\(PageParts.grouped(Int64($0))) each second at most") }),
                (
                    "Asked by",
                    PageParts.link(
                        ConsoleSection.audit.path.with("actor", job.madeBy), .audit, call, .untrusted(job.madeBy))
                ),
                ("Begun", call.clock.time(job.created)),
                ("Last step", job.finished == nil ? call.clock.time(job.updated) : nil),
                ("Ended", job.finished.map { call.clock.time($0) }),
            ]),
        ])
    }
}
