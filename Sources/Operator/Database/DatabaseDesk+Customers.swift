import Base
import Customers
import Database
import Postgres
import Subscriptions

extension DatabaseDesk {
    package func customers(_ question: CustomersQuestion) throws -> DeskList<CustomerRow> {
        try viewer.check(.customers)
        return question.part.list(try CustomerQuery.list(question.part.range, now: now, on: connection)) {
            CustomerRow(customer: $0)
        }
    }

    package func customer(_ id: String) throws -> CustomerAnswer {
        try viewer.check(.customers)
        let resolved = try resolve(id)
        guard let appUserID = resolved.appUserID,
            let found = try CustomerQuery.find(
                appUserID, foldSettings: settings.foldSettings,
                within: CustomerQuery.Limits(purchases: DatabaseDesk.mostPurchases, facts: DatabaseDesk.bounds),
                on: connection)
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
            unread: found.unread, isCut: found.isCut, attributes: shown(attributes))
    }

    private func shown(_ attributes: CustomerAttributes) -> [AttributeRow] {
        let view = viewer.personalData
        return attributes.live.sorted { $0.key < $1.key }.map { key, attribute in
            AttributeRow(key: key, value: view.shown(attribute.value ?? ""), view: view, updated: attribute.updated)
        }
    }

    // MARK: - What happened

    /// Of one customer.
    static let mostPurchases = 500
    /// Facts that were not folded before, of one purchase; bytes of folds together.
    static let bounds = FactTable.Bounds(rows: 2_000, bytes: 4 << 20)

    /// Steps of a purchase with more facts are not told one by one: each is a fold of all before it.
    static let foldedFacts = 500

    package func timeline(of id: String, _ question: TimelineQuestion) throws -> DeskList<TimelineRow> {
        try viewer.check(.customers)
        let ids = try appUserIDs(of: id)
        let keys = try CustomerQuery.purchases(
            ofOwners: ids, atMost: DatabaseDesk.mostPurchases, on: connection)
        let (few, many) = try split(keys)
        let told = try TimelineQuery.timeline(
            of: few, appUserIDs: ids, patience: settings.expiryPatience.milliseconds,
            foldSettings: settings.foldSettings, now: now, order: question.order,
            actions: DatabaseDesk.consideredRows, on: connection)
        let range = question.part.range
        let steps = ranked(told.entries, question.order) + (try events(of: many, range))
        let wanted = steps.filter { step in
            step.rank.order >= range.since ?? .min && step.rank.order < range.until ?? .max
                && range.after.map { step.rank.isBefore($0) } ?? true
        }.sorted { $1.rank.isBefore($0.rank) }
        let page = ListPage(Array(wanted.prefix(range.limit + 1)), limit: range.limit) { $0.rank }
        return question.part.list(page) { TimelineRow(entry: $0.entry, order: question.order) }
    }

    private struct Step: Sendable {
        let rank: ListCursor
        let entry: TimelineEntry
    }

    /// Steps with their positions: of one instant those that came last come last, and events behind them.
    private func ranked(_ entries: [TimelineEntry], _ order: TimelineOrder) -> [Step] {
        var known: [[Int64]: UInt64] = [:]
        return entries.map { entry in
            let place = [entry.date(in: order), entry.instant]
            let number = known[place, default: 0]
            known[place] = number + 1
            let instant = withUnsafeBytes(of: UInt64(bitPattern: entry.instant).bigEndian) { Array($0) }
            let tie = withUnsafeBytes(of: number.bigEndian) { Array($0) }
            return Step(rank: ListCursor(order: place[0], lane: -1, id: instant + tie), entry: entry)
        }
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

    /// The newest events about purchases behind a position, each as a step of its own: what these purchases told. There are more
    /// than a page has, or they are all.
    private func events(of keys: [PurchaseKey], _ range: ListRange) throws -> [Step] {
        let scopes = Dictionary(grouping: keys) { AppScope(app: $0.app, environment: $0.environment) }
        return try scopes.flatMap { scope, keys in
            let byID = Dictionary(keys.map { ($0.originalTransactionID, $0) }) { first, _ in first }
            var filter = EventQuery.Filter()
            (filter.app, filter.environment) = (scope.app, scope.environment)
            filter.subject = EventQuery.Subject(originalTransactionIDs: Set(byID.keys))
            let part = ListRange(
                since: range.since, until: range.until, after: range.after, limit: range.limit + 1)
            let rows = try EventQuery.list(filter, part, now: now, on: connection).rows
            let traces = try EventTraceQuery.traces(of: rows.map(\.name), on: connection)
            return rows.map { event in
                let told = TimelineEntry.Event(id: event.id, type: event.type, reason: nil, trace: traces[event.id])
                return Step(
                    rank: ListCursor(
                        order: event.created, lane: event.lane.number, id: UUIDText.bytes(event.id) ?? []),
                    entry: TimelineEntry(
                        .observation, at: event.created, purchase: event.originalTransactionID.flatMap { byID[$0] },
                        events: [told]))
            }
        }
    }

    // MARK: - Notes

    package func notes(of id: String, _ question: NotesQuestion) throws -> DeskList<NoteRow> {
        try viewer.check(.customers)
        let page = try CustomerNoteTable.list(of: try appUserIDs(of: id), question.part.range, on: connection)
        return question.part.list(page) { $0 }
    }

    /// The newest of a customer; none where the schema is older than notes.
    package func newestNotes(of ids: [String]) throws -> ListPage<NoteRow> {
        try viewer.check(.customers)
        let exists = try connection.query(
            "SELECT to_regclass('entitled.customer_note') IS NOT NULL AS is_there"
        ).one().bool("is_there")
        let range = ListRange(limit: 20)
        guard exists else { return ListPage([], limit: range.limit) { ListCursor(order: $0.id, lane: 0) } }
        return try CustomerNoteTable.list(of: ids, range, on: connection)
    }

    // MARK: - Purchases

    package func purchases(_ question: PurchasesQuestion) throws -> DeskList<PurchaseRow> {
        try viewer.check(.purchases)
        guard question.id != nil || question.customer != nil else { return try scan(question) }
        var keys: [PurchaseKey] = []
        if let id = question.id {
            keys = try PurchaseQuery.keys(
                of: id, app: question.app, environment: question.environment, on: connection)
        } else if let customer = question.customer {
            guard viewer.seesPersons else { throw DeskError.forbidden(viewer.role, parameter: "customer") }
            keys = try CustomerQuery.purchases(
                ofOwners: try appUserIDs(of: customer, field: "customer"), atMost: DatabaseDesk.consideredRows,
                on: connection
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
        // A purchase with more facts than are read is left out, so that the keys are counted.
        let wanted = Array(keys.dropFirst(start).prefix(range.limit + 1))
        let page = ListPage(wanted, limit: range.limit) { _ in
            ListCursor(order: Int64(start + range.limit), lane: 0)
        }
        return question.part.list(try page.map { rows(try find($0)) }) { $0 }
    }

    package func purchase(_ key: PurchaseKey) throws -> PurchaseAnswer {
        try viewer.check(.purchases)
        let found = try find([key])
        guard let purchase = found.first?.purchase, let row = rows(found).first else {
            guard try FactTable.counts(of: [key], upTo: 1, on: connection) == [0] else {
                throw DeskError.unavailable(
                    "\(key.originalTransactionID) has more facts than can be folded for an answer; a worker folds"
                        + " them: retry in a few minutes."
                )
            }
            throw DeskError.notFound(
                "There is no purchase \(key.originalTransactionID) of \(key.app) in \(key.environment.rawValue).")
        }
        return PurchaseAnswer(
            row: row, explanation: PurchaseExplanation(purchase, now: now),
            customer: viewer.seesPersons ? found.first?.customer.originalAppUserID : nil)
    }

    /// All purchases that fit, in the order of their keys: those of each part that was read, which are more or fewer.
    private func scan(_ question: PurchasesQuestion) throws -> DeskList<PurchaseRow> {
        let filter = PurchaseScan.Filter(
            app: question.app, environment: question.environment, product: question.product,
            isUnclaimed: question.isUnclaimed, endsAfter: question.endsAfter, endsBefore: question.endsBefore,
            refundedSince: question.refundedSince, refundedUntil: question.refundedUntil, status: question.status)
        let page = try PurchaseScan.list(filter, question.part.range, now: now, on: connection)
        let list = try page.map { keys in
            rows(try find(keys)).filter { row in
                // What the columns of a record say is less than what its facts fold to.
                question.status.map { $0 == row.purchase.status(at: now) } ?? true
            }
        }
        let found = question.part.list(list) { $0 }
        // In no order of time there is no instant that it was read up to.
        return DeskList(found.items, next: found.next)
    }

    /// Reads on where the bound of bytes was met, so that none is left out but those with more facts than are folded for an
    /// answer.
    private func find(_ keys: [PurchaseKey]) throws -> [PurchaseQuery.Found] {
        var found: [PurchaseKey: PurchaseQuery.Found] = [:]
        var (left, size) = (keys, keys.count)
        while !left.isEmpty {
            let part = Array(left.prefix(size))
            let more = try PurchaseQuery.find(
                part, foldSettings: settings.foldSettings, within: DatabaseDesk.bounds, on: connection)
            for one in more { found[one.purchase.key] = one }
            left.removeAll { found[$0] != nil }
            guard more.isEmpty else { continue }
            // One that cannot be read hides no other one: they are read one by one.
            if part.count == 1 { left.removeFirst() } else { size = 1 }
        }
        return keys.compactMap { found[$0] }
    }

    private func rows(_ found: [PurchaseQuery.Found]) -> [PurchaseRow] {
        let summary = PurchaseSummary(catalogue: settings.catalogue, sandboxRule: settings.sandboxRule)
        return found.map { found in
            PurchaseRow(
                purchase: found.purchase, owner: viewer.seesPersons ? found.owner : nil,
                row: summary.row(found.purchase, ofCustomer: found.customer.appUserIDs, now: now))
        }
    }
}

extension ListCursor {
    /// Whether it stands before another one in a list, whose greatest come first.
    fileprivate func isBefore(_ other: ListCursor) -> Bool {
        if order != other.order { return order < other.order }
        if lane != other.lane { return lane < other.lane }
        return id.lexicographicallyPrecedes(other.id)
    }
}
