import Base
import Customers
import Database
import Postgres
import Subscriptions

extension DatabaseDesk {
    package func customers(_ question: CustomersQuestion) throws -> DeskList<CustomerRow> {
        try viewer.check(.customers)
        return question.part.list(try CustomerQuery.list(question.part.range, on: connection)) {
            CustomerRow(customer: $0)
        }
    }

    package func customer(_ id: String) throws -> CustomerAnswer {
        try viewer.check(.customers)
        let resolved = try resolve(id)
        guard let appUserID = resolved.appUserID,
            let found = try CustomerQuery.find(appUserID, foldSettings: settings.foldSettings, on: connection)
        else { throw DeskError.notFound("No customer has the id \(id).") }
        let ids = found.customer.appUserIDs
        let attributes = try AttributeTable.load(ids, own: found.customer.originalAppUserID, on: connection).all
        let profile = CustomerProfile(
            originalAppUserID: found.customer.originalAppUserID, appUserIDs: ids,
            firstSeen: found.customer.firstSeen, lastSeen: found.lastSeen)
        let summary = PurchaseSummary(catalogue: settings.catalogue, sandboxRule: settings.sandboxRule)
        return CustomerAnswer(
            resolved: resolved,
            explanation: CustomerExplanation(
                profile, found.purchases, catalogue: settings.catalogue, sandboxRule: settings.sandboxRule, now: now),
            purchases: found.purchases,
            purchaseRows: summary.json(found.purchases, of: profile, now: now), spending: Spending(found.purchases),
            attributes: shown(attributes))
    }

    private func shown(_ attributes: CustomerAttributes) -> [AttributeRow] {
        let view = viewer.personalData
        return attributes.live.sorted { $0.key < $1.key }.map { key, attribute in
            AttributeRow(key: key, value: view.shown(attribute.value ?? ""), view: view, updated: attribute.updated)
        }
    }

    // MARK: - What happened

    /// Steps of a purchase with more facts are not told one by one: each is a fold of all before it.
    static let foldedFacts = 500

    package func timeline(of id: String, _ question: TimelineQuestion) throws -> DeskList<TimelineRow> {
        try viewer.check(.customers)
        let ids = try appUserIDs(of: id)
        let keys = try CustomerQuery.purchases(ofOwners: ids, on: connection)
        let (few, many) = try split(keys)
        let told = try TimelineQuery.timeline(
            of: few, appUserIDs: ids, patience: settings.expiryPatience.milliseconds,
            foldSettings: settings.foldSettings, now: now, order: question.order, on: connection)
        let range = question.part.range
        var entries = told.entries
        var lookedBackTo: Int64?
        if !many.isEmpty {
            let (events, least) = try events(of: many, before: range)
            entries = Timeline(entries + events, order: question.order).entries
            lookedBackTo = least
        }
        return page(entries, question, lookedBackTo)
    }

    /// The purchases whose steps are told, and those that have too many facts for it. The facts of the first together are few.
    private func split(_ keys: [PurchaseKey]) throws -> (few: [PurchaseKey], many: [PurchaseKey]) {
        let counts = try FactTable.counts(of: keys, upTo: DatabaseDesk.foldedFacts + 1, on: connection)
        var (few, many, sum) = ([PurchaseKey](), [PurchaseKey](), 0)
        for (key, count) in zip(keys, counts).sorted(by: { $0.1 < $1.1 }) {
            if sum + count <= DatabaseDesk.foldedFacts {
                few.append(key)
                sum += count
            } else {
                many.append(key)
            }
        }
        return (few, many)
    }

    /// The newest events about purchases, each as a step of its own: what these purchases told.
    private func events(
        of keys: [PurchaseKey], before range: ListRange
    ) throws -> (entries: [TimelineEntry], lookedBackTo: Int64?) {
        var until = range.until
        if let after = range.after, after.order < .max { until = min(until ?? .max, after.order + 1) }
        let byID = Dictionary(keys.map { ($0.originalTransactionID, $0) }) { first, _ in first }
        var filter = EventQuery.Filter()
        filter.subject = EventQuery.Subject(originalTransactionIDs: Set(byID.keys))
        let page = try EventQuery.list(
            filter, ListRange(since: range.since, until: until, limit: 2 * range.limit), now: now, on: connection)
        let traces = try EventTraceQuery.traces(of: page.rows.map(\.name), on: connection)
        let entries = page.rows.map { event in
            TimelineEntry(
                .observation, at: event.created, purchase: event.originalTransactionID.flatMap { byID[$0] },
                events: [TimelineEntry.Event(id: event.id, type: event.type, reason: nil, trace: traces[event.id])])
        }
        return (entries, page.next == nil ? nil : page.rows.last?.created)
    }

    /// The newest first.
    private func page(
        _ entries: [TimelineEntry], _ question: TimelineQuestion, _ lookedBackTo: Int64?
    ) -> DeskList<TimelineRow> {
        let range = question.part.range
        // Of one instant those that came last come first; the number tells apart what has both in common.
        var known: [[Int64]: Int16] = [:]
        let ranked = entries.map { entry -> (rank: ListCursor, entry: TimelineEntry) in
            let place = [entry.date(in: question.order), entry.instant]
            let number = known[place, default: 0]
            known[place] = number == .max ? .max : number + 1
            let instant = withUnsafeBytes(of: UInt64(bitPattern: entry.instant).bigEndian) { Array($0) }
            return (ListCursor(order: place[0], lane: number, id: instant), entry)
        }
        func isBefore(_ one: ListCursor, _ other: ListCursor) -> Bool {
            if one.order != other.order { return one.order < other.order }
            if one.id != other.id { return one.id.lexicographicallyPrecedes(other.id) }
            return one.lane < other.lane
        }
        let wanted = ranked.reversed().filter { rank, _ in
            // What is older than the events that were read is told with them, on a later page.
            rank.order >= max(range.since ?? 0, lookedBackTo ?? 0) && rank.order < range.until ?? .max
                && range.after.map { isBefore(rank, $0) } ?? true
        }
        let page = ListPage(
            wanted.prefix(range.limit + 1).map { $0 }, limit: range.limit,
            stop: lookedBackTo.map { ($0, ListCursor(order: $0, lane: .min)) }
        ) { $0.rank }
        return question.part.list(page) { TimelineRow(entry: $0.entry, order: question.order) }
    }

    // MARK: - Purchases

    package func purchases(_ question: PurchasesQuestion) throws -> DeskList<PurchaseRow> {
        try viewer.check(.purchases)
        var keys: [PurchaseKey] = []
        if let id = question.id {
            keys = try PurchaseQuery.keys(
                of: id, app: question.app, environment: question.environment, on: connection)
        } else if let customer = question.customer {
            keys = try CustomerQuery.purchases(
                ofOwners: try appUserIDs(of: customer, field: "customer"), on: connection
            ).filter { key in
                (question.app.map { $0 == key.app } ?? true)
                    && (question.environment.map { $0 == key.environment } ?? true)
            }
        }
        // In an order that purchases keep; the cursor counts, since no purchase leaves it but by a deletion.
        keys.sort {
            ($0.originalTransactionID, $0.app, $0.environment) < ($1.originalTransactionID, $1.app, $1.environment)
        }
        let range = question.part.range
        let start = min(keys.count, Int(clamping: max(0, range.after?.order ?? 0)))
        let found = try rows(of: Array(keys.dropFirst(start).prefix(range.limit + 1)))
        let page = ListPage(found, limit: range.limit) { _ in
            ListCursor(order: Int64(start + range.limit), lane: 0)
        }
        return question.part.list(page) { $0 }
    }

    package func purchase(_ key: PurchaseKey) throws -> PurchaseAnswer {
        try viewer.check(.purchases)
        guard let row = try rows(of: [key]).first else {
            throw DeskError.notFound(
                "There is no purchase \(key.originalTransactionID) of \(key.app) in \(key.environment.rawValue).")
        }
        let customer = try CustomerTable.load([row.owner], on: connection)[row.owner]
        return PurchaseAnswer(
            row: row, explanation: PurchaseExplanation(row.purchase, now: now),
            customer: customer?.originalAppUserID ?? row.owner)
    }

    private func rows(of keys: [PurchaseKey]) throws -> [PurchaseRow] {
        let summary = PurchaseSummary(catalogue: settings.catalogue, sandboxRule: settings.sandboxRule)
        return try PurchaseQuery.find(keys, foldSettings: settings.foldSettings, on: connection).map { found in
            PurchaseRow(
                purchase: found.purchase, owner: found.owner,
                row: summary.row(found.purchase, ofCustomer: found.customer.appUserIDs, now: now))
        }
    }
}
