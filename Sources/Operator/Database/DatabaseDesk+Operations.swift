import Base
import Crypto
import Database
import Postgres
import Subscriptions

extension DatabaseDesk {
    // MARK: - Notifications

    package func notifications(_ question: NotificationsQuestion) throws -> DeskList<NotificationRow> {
        try viewer.check(.notifications)
        var filter = filter(question)
        if let purchase = question.purchase {
            let environments = question.environment.map { [$0] } ?? StoreEnvironment.allCases
            let apps = try question.app.map { [$0] } ?? knownApps()
            filter.lanes = Set(
                apps.flatMap { app in environments.map { Lane(app: app, environment: $0, subject: purchase) } }
            ).sorted()
        }
        return question.part.list(try NotificationQuery.list(filter, question.part.range, on: connection)) { $0 }
    }

    /// Those of the configuration, and those of which something was bought.
    private func knownApps() throws -> Set<String> {
        let bought = try connection.query("SELECT DISTINCT app FROM entitled.product").map { try $0.text("app") }
        return Set(settings.scopes.map(\.app)).union(bought)
    }

    func filter(_ question: NotificationsQuestion) -> NotificationQuery.Filter {
        var filter = NotificationQuery.Filter(
            state: question.state, app: question.app, environment: question.environment)
        (filter.type, filter.subtype) = (question.type, question.subtype)
        filter.originalTransactionID = question.purchase
        filter.sources = question.source?.values
        return filter
    }

    package func notification(_ name: NotificationName) throws -> StoredNotificationAnswer {
        try viewer.check(.notifications)
        let found = try NotificationQuery.find(
            uuid: name.uuid, app: name.app, environment: name.environment, on: connection)
        guard let whole = found.whole.first else {
            guard let received = found.dropped.first else {
                throw DeskError.notFound(
                    "There is no notification \(name.uuid) of \(name.app) in \(name.environment.rawValue).")
            }
            throw DeskError.notKept(
                "The notification came \(Timestamp.text(received)) and is not kept any more (retention.notifications).")
        }
        return StoredNotificationAnswer(whole: whole, isPayloadShown: viewer.seesPersons)
    }

    // MARK: - Outages

    package func outages() throws -> DeskList<OutageRow> {
        try viewer.check(.outages)
        let coverage = try HistoryCoverage.read(on: connection)
        let (_, now) = try OverviewQuery.listened(on: connection)
        return DeskList(
            try IngestUptime.outages(now: now, on: connection).reversed().map { gap in
                OutageRow(
                    from: gap.lowerBound, until: gap.upperBound,
                    coverage: settings.scopes.map {
                        OutageRow.Coverage(app: $0.app, environment: $0.environment, covered: coverage[$0]?.covered)
                    })
            })
    }

    // MARK: - Refunds, products, jobs, actions, workers

    /// Whether workers answer Apple's questions about refunds of an app.
    package func answersRefunds(of app: String) -> Bool { settings.refundApps.contains(app) }

    package func refunds(_ question: RefundsQuestion) throws -> DeskList<RefundRow> {
        try viewer.check(.refunds)
        let page = try RefundRequestTable.list(
            app: question.app, openAt: question.isOpen ? now : nil, question.part.range, on: connection)
        return question.part.list(page) { RefundRow(request: $0.request, owner: $0.owner, now: now) }
    }

    /// A question about one transaction.
    ///
    /// - Throws: `DeskError` where Apple asked none, or two apps have such a transaction.
    func refund(_ transaction: String, app: String?, environment: StoreEnvironment?) throws -> RefundRequest {
        try viewer.check(.refunds)
        let found = try RefundRequestTable.list(
            app: app, transactionID: transaction, atMost: 10, on: connection
        ).map(\.request).filter { environment == nil || $0.key.purchase.environment == environment }
        guard let request = found.first else {
            throw DeskError.notFound("Apple has asked no question about the transaction \(transaction).")
        }
        guard found.count == 1 else {
            throw DeskError.badRequest(
                "Two apps or environments have the transaction \(transaction): say which, with app and environment.",
                field: "app")
        }
        return request
    }

    package func products() throws -> DeskList<ProductRow> {
        try viewer.check(.products)
        return DeskList(
            try ProductTable.list(on: connection).map {
                ProductRow(
                    product: $0.product, firstSeen: $0.firstSeen,
                    entitlements: settings.catalogue.entitlements(of: $0.product.productID))
            })
    }

    package func jobs(_ question: JobsQuestion) throws -> DeskList<JobRow> {
        try viewer.check(.jobs)
        return question.part.list(
            try JobTable.list(in: question.state, question.part.range, on: connection)
        ) { $0 }
    }

    /// A job; for a role that does not see jobs, a change that the operator asked for.
    package func job(_ number: Int64) throws -> JobAnswer {
        let (job, change) = try knownJob(number)
        let hasDeliveries = change.map { $0.kind.isBulk && !$0.kind.readsHistory && $0.kind != .bulkGrant } ?? false
        let isAboutCustomer = change.map { [.customer, .purchase].contains($0.kind.targetClass) } ?? false
        let hidesCustomer = isAboutCustomer && !viewer.may(.customers)
        return JobAnswer(
            job: hidesCustomer ? job.withoutWords() : job, change: change.map { ChangeAnswer($0, for: viewer) },
            deliveries: hasDeliveries
                ? try DeliveryBulk.outcome(ofJob: number, upTo: CappedCount.cap, on: connection) : nil)
    }

    /// The same without what became of its deliveries, which takes time to count.
    ///
    /// - Returns: as change nil where it is none.
    func knownJob(_ number: Int64) throws -> (job: Job, change: Change?) {
        guard let job = try JobTable.find(number, on: connection) else {
            throw viewer.may(.jobs) ? DeskError.notFound("There is no job \(number).") : .noOwnChange(number)
        }
        // An older schema has no change.
        let isChange = ChangeKind(rawValue: job.kind) != nil
        let change = isChange ? try ChangeTable.find(number, on: connection) : nil
        guard try viewer.may(.jobs) || change.map({ try viewer.hasAsked(for: $0, on: connection) }) ?? false
        else { throw DeskError.noOwnChange(number) }
        return (job, change)
    }

    package func actions(_ question: ActionsQuestion) throws -> DeskList<ActionRow> {
        try viewer.check(.actions)
        let ids = try question.customer.map { try appUserIDs(of: $0, field: "customer") }
        let page = try ActionTable.list(
            actor: question.actor, kind: question.kind, naming: ids, question.part.range, on: connection)
        return question.part.list(page) { ActionRow(entry: $0) }
    }

    package func audit(_ question: AuditQuestion) throws -> DeskList<AuditRow> {
        try viewer.check(.audit)
        let actor = viewer.role == .operator ? question.actor : viewer.user
        if let asked = question.actor, asked != actor {
            throw DeskError(
                403, "forbidden", "The role \(viewer.role.rawValue) sees what it did itself.", field: "actor",
                needs: [.operator])
        }
        var filter = AuditTable.Filter(actor: actor, kind: question.kind, target: question.target)
        // Of an operator who had the name before, entries are another's.
        if viewer.role != .operator {
            filter.notBefore = try ConsoleUserTable.find(viewer.user, on: connection)?.created
        }
        filter.hidesCustomers = !viewer.may(.customers)
        let page = try AuditTable.list(filter, question.part.range, on: connection)
        return question.part.list(page) { $0 }
    }

    package func workers() throws -> WorkersAnswer {
        try viewer.check(.workers)
        return WorkersAnswer(
            workers: try livingWorkers().map {
                WorkersAnswer.Worker(id: Hex.encode($0.id), host: $0.host, seen: $0.seen, lanes: $0.lanes)
            }, lanes: Int64(Lane.count), processes: try processes())
    }

    private func processes() throws -> [WorkersAnswer.Process] {
        let living = try livingProcesses()
        let comparison = ConfigurationComparison(living)
        return living.map { WorkersAnswer.Process($0, differs: comparison.differs($0)) }
    }

    /// Empty where an older schema does not know them.
    private func livingProcesses() throws -> [RunningProcess] {
        guard try ProcessTable.isThere(on: connection) else { return [] }
        return try ProcessTable.living(workersSeenWithin: 2 * settings.lease.milliseconds, on: connection)
    }

    /// A lease that was renewed a moment too late is taken again at once.
    private func livingWorkers() throws -> [OverviewQuery.Worker] {
        try OverviewQuery.workers(seenWithin: 2 * settings.lease.milliseconds, on: connection)
    }

    // MARK: - At a glance

    /// How far back a notification is looked for; what is older tells nothing of today.
    private static let newestWithin: Int64 = 45 * 86_400_000

    package func overview() throws -> Overview {
        try viewer.check(.overview)
        let seen = try state()
        let newest = try settings.memory.newest(since: now - DatabaseDesk.newestWithin, now: now) { since in
            try OverviewQuery.newestNotifications(since: since, on: connection)
        }
        let counts = seen.counts
        return Overview(
            now: now, findings: findings(seen),
            sources: settings.scopes.map {
                Overview.Source(app: $0.app, environment: $0.environment, lastReceived: newest[$0])
            },
            oldestPending: seen.oldestPending,
            pending: DeskCount(
                seen.waitingLanes.reduce(0) { $0 + $1.pending.value },
                isCapped: seen.waitingLanes.contains { $0.pending.isCapped }),
            waitingLanes: seen.waitingLanes, held: CappedCount(counts.held),
            duePending: CappedCount(counts.pendingDeliveries), heldDeliveries: CappedCount(counts.heldDeliveries),
            failingEndpoints: viewer.may(.endpoints) ? counts.failingEndpoints : [],
            openRefunds: CappedCount(counts.openRefunds), nextRefundDeadline: counts.nextRefundDeadline,
            runningJobs: CappedCount(counts.runningJobs), workers: Int64(seen.workers.count),
            ownedLanes: seen.workers.reduce(0) { $0 + $1.lanes }, lanes: Int64(Lane.count))
    }

    package func findings() throws -> DeskList<DeskFinding> {
        try viewer.check(.doctor)
        return DeskList(findings(try state()))
    }

    private struct State {
        let counts: OverviewQuery.Counts
        let waitingLanes: [Overview.WaitingLane]
        let workers: [OverviewQuery.Worker]
        let processes: [RunningProcess]
        let listened: (last: Int64?, now: Int64)
        let databaseReturn: ReturnProgress?

        /// ms since 1970.
        var oldestPending: Int64? { waitingLanes.map(\.oldest).min() }
    }

    private func state() throws -> State {
        State(
            counts: try OverviewQuery.counts(
                upTo: CappedCount.cap, now: now, answeredApps: settings.refundApps.sorted(), on: connection),
            waitingLanes: try PendingNotification.backlog(eachUpTo: Overview.WaitingLane.cap, on: connection).map {
                Overview.WaitingLane(
                    lane: Int64($0.lane.number),
                    pending: DeskCount($0.count, isCapped: $0.count == Overview.WaitingLane.cap),
                    oldest: SequenceGenerator.instant(of: $0.oldest))
            },
            workers: try livingWorkers(), processes: try livingProcesses(),
            listened: try OverviewQuery.listened(on: connection),
            databaseReturn: try ReturnProgress.read(on: connection))
    }

    /// The gravest first; only those of which the viewer sees more.
    private func findings(_ state: State) -> [DeskFinding] {
        (working(state) + waiting(state)).filter { viewer.may($0.section) || $0.section == .workers }
            .sorted { $0.level < $1.level }
    }

    private func working(_ state: State) -> [DeskFinding] {
        var findings: [DeskFinding] = []
        switch state.listened.last {
        case nil:
            findings.append(
                DeskFinding(
                    .error, "work.ingest", "No ingest process has ever used this database: no notification arrives.",
                    section: .outages))
        case .some(let last) where state.listened.now - last >= WorkPatience.ingest:
            findings.append(
                DeskFinding(
                    .error, "work.ingest",
                    "No ingest process could store notifications since \(Timestamp.text(last)).", section: .outages))
        default: break
        }
        let owned = state.workers.reduce(0) { $0 + $1.lanes }
        if state.workers.isEmpty {
            findings.append(
                DeskFinding(
                    .error, "work.workers", "No worker is alive: notifications are stored, but not applied.",
                    section: .workers))
        } else if owned < Int64(Lane.count) {
            findings.append(
                DeskFinding(
                    .warning, "work.workers", "\(Int64(Lane.count) - owned) of \(Lane.count) lanes have no worker.",
                    section: .workers))
        }
        let differing = ConfigurationComparison(state.processes).differing
        if !differing.isEmpty {
            let groups = differing.map { group in
                "\(group.configuration.text) on \(Set(group.processes.map(\.host)).sorted().joined(separator: ", "))"
            }
            findings.append(
                DeskFinding(
                    .warning, "work.configuration",
                    "Processes use different configurations: \(groups.joined(separator: "; ")).",
                    section: .workers))
        }
        if let progress = state.databaseReturn {
            let text = progress.text
            findings.append(
                DeskFinding(
                    .warning, "work.return", text.prefix(1).uppercased() + text.dropFirst() + ".",
                    section: .outages))
        }
        if let oldest = state.oldestPending, now - oldest > WorkPatience.notification {
            findings.append(
                DeskFinding(
                    now - oldest > WorkPatience.lateNotification ? .error : .warning, "work.notifications",
                    "The oldest notification that is not applied came \(Timestamp.text(oldest)).",
                    section: .notifications))
        }
        return findings
    }

    private func waiting(_ state: State) -> [DeskFinding] {
        var findings = state.counts.failingEndpoints.map { id in
            DeskFinding(.error, "endpoints.health", "The endpoint \(id) fails.", section: .endpoints, id: id)
        }
        if state.counts.held > 0 {
            let count = CappedCount(state.counts.held)
            findings.append(
                DeskFinding(
                    .warning, "work.held",
                    "\(count.isCapped ? "At least " : "")\(count.value) notifications are held.",
                    section: .notifications))
        }
        if let deadline = state.counts.nextAnswerDeadline, deadline - now < WorkPatience.refundAnswer {
            findings.append(
                DeskFinding(
                    .warning, "work.refunds",
                    "Apple waits for an answer about a refund until \(Timestamp.text(deadline)).",
                    section: .refunds))
        }
        return findings
    }
}
