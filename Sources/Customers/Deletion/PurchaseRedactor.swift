import Base
import Daemon
import Database
import Postgres
import Subscriptions

/// Removes a person from what is stored about one purchase; with `erase`, the purchase too.
struct PurchaseRedactor {
    let foldSettings: FoldSettings
    private let notifications = StoredNotifications()

    init(foldSettings: FoldSettings) {
        self.foldSettings = foldSettings
    }

    /// One transaction, with the purchase's lane held.
    func run(
        _ subject: DeletionTable.Subject, of deletion: DeletionTable.Entry, _ names: Pseudonyms,
        on connection: PostgresConnection
    ) throws {
        let key = subject.key
        try connection.transaction {
            let now = try Fence.hold([key.lane], on: connection)
            // Before anything else, as everything that changes owners does.
            try OwnerSettlement(salt: OwnerSalt(), foldSettings: foldSettings).hold([key], on: connection)
            guard try DeletionTable.take(key, of: deletion.id, on: connection) else { return }
            let isNobodys = try isNobodys(subject, on: connection)
            var counts: DeletionTable.Counts
            if deletion.policy == .erase, isNobodys {
                counts = try erase(subject, of: deletion.id, on: connection)
            } else {
                counts = try pseudonymise(subject, of: deletion, names, now: now, on: connection)
            }
            if subject.owner != nil { counts["purchase", default: 0] += 1 }
            FailPoint.erasureBeforeCommit.pass()
            try DeletionTable.count(counts, of: deletion.id, on: connection)
        }
        FailPoint.erasureAfterCommit.pass()
    }

    /// Whether no customer has taken it over since: it may have been restored.
    private func isNobodys(
        _ subject: DeletionTable.Subject, on connection: PostgresConnection
    ) throws -> Bool {
        guard let owner = subject.owner, try PurchaseTable.owners([subject.key], on: connection) == [owner] else {
            return false
        }
        // An anonymous customer may have, too: then they are one customer with the owner.
        return try CustomerTable.load([owner], on: connection)[owner].map { $0.appUserIDs == [owner] } ?? true
    }

    // MARK: - Pseudonymising

    private func pseudonymise(
        _ subject: DeletionTable.Subject, of deletion: DeletionTable.Entry, _ names: Pseudonyms, now: Int64,
        on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        let (key, isTheirs) = (subject.key, subject.owner != nil)
        let events = EventRedactor(deletion: deletion.id)
        // Consumers know the purchase by the id that it has now. In its facts the customer has the names that the log gives them, so
        // that what follows from both is what it was.
        var counts = try events.pseudonymise(
            try EventRedactor.events(of: key, on: connection), subject.owner.map(names.all) ?? names, on: connection)
        let places = try StoredNotifications.places(of: key, on: connection)
        counts["fact"] = try FactRedactor.redact(
            key, names, isTheirs: isTheirs, until: deletion.action, at: deletion.at, on: connection)
        counts.merge(
            try forget(places, names, isTheirs: isTheirs, events, now: now, on: connection), uniquingKeysWith: +)
        if counts["fact"] ?? 0 > 0 {
            // Bytes break ties, and these are others now: the record is what they fold to.
            _ = try PurchaseRebuild(
                confirmationRule: try ExpiryConfirmationRule.read(patience: 0, now: now, on: connection),
                foldSettings: foldSettings
            ).check([key], writes: true, now: now, on: connection)
        }
        return counts
    }

    private static let pageSize = 100

    /// Envelopes cannot be kept without what Apple signed in them.
    private func forget(
        _ places: [LogPosition], _ names: Pseudonyms, isTheirs: Bool, _ events: EventRedactor, now: Int64,
        on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        var counts: DeletionTable.Counts = [:]
        for start in stride(from: 0, to: places.count, by: PurchaseRedactor.pageSize) {
            let stored = try notifications.read(places[start...].prefix(PurchaseRedactor.pageSize), on: connection)
            let lane = places[start].lane
            let deliveries = try PurchaseRedactor.deliveries(of: stored.map(\.identity), in: lane, on: connection)
            try events.remember(deliveries, on: connection)
            counts["attempt", default: 0] += try EventRedactor.emptyAttempts(deliveries.map(\.id), on: connection)
            let identifying = stored.filter { tells($0, names, isTheirs: isTheirs) }
            counts.merge(
                try StoredNotifications.delete(identifying.map(\.place), on: connection), uniquingKeysWith: +)
            let unsent = try PurchaseRedactor.deliveries(of: identifying.map(\.identity), in: lane, on: connection)
                .filter(
                    \.state.isOpen)
            try UnreadableDeliveries.giveUp(
                unsent.map { ($0.id, "the customer was deleted, and the notification with them") }, now: now,
                on: connection)
            counts["delivery", default: 0] += Int64(unsent.count)
        }
        return counts
    }

    /// What cannot be read may say anything.
    private func tells(_ stored: StoredNotifications.Stored, _ names: Pseudonyms, isTheirs: Bool) -> Bool {
        guard let decoded = stored.payload.flatMap(NestedJWS.decoded) else { return true }
        return isTheirs && NestedJWS.hasToken(decoded) || NestedJWS.names(decoded) { names[$0] != nil }
    }

    /// Of notifications as they came.
    static func deliveries(
        of identities: [NotificationIdentity], in lane: Lane, on connection: PostgresConnection
    ) throws -> [(id: DeliveryID, state: DeliveryCode)] {
        guard !identities.isEmpty else { return [] }
        let endpoints = try connection.query("SELECT id FROM entitled.endpoint WHERE format = 1").map {
            try $0.text("id")
        }
        return try EventRedactor.existing(
            identities.flatMap { identity in
                endpoints.map { DeliveryID(lane: lane, notification: identity, endpoint: $0) }
            }, on: connection)
    }

    // MARK: - Erasing

    private static let deleteFacts = """
        DELETE FROM entitled.fact WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4
        RETURNING 1
        """
    private static let selectSigned = """
        SELECT payload FROM entitled.fact
        WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 AND kind = 1
        """
    private static let deleteKeys = """
        DELETE FROM entitled.notification_key WHERE key = ANY($1::uuid[]) AND app = $2 AND environment = $3
            /* cluster: AND lane = $4::int2 */
        """
    private static let deleteIdentifiers = """
        DELETE FROM entitled.purchase_identifier WHERE identifier = ANY($1::text[]) AND app = $2 AND environment = $3
            AND original_transaction_id = $4 /* cluster: AND lane = $5::int2 */ RETURNING 1
        """
    private func erase(
        _ subject: DeletionTable.Subject, of deletion: Int64, on connection: PostgresConnection
    ) throws -> DeletionTable.Counts {
        let key = subject.key
        let parameters: [PostgresValue] = [
            .int2(key.lane.number), .text(key.originalTransactionID), .text(key.app), .int2(key.environment.code),
        ]
        let places = try StoredNotifications.places(of: key, on: connection)
        var identities: [NotificationIdentity] = []
        for start in stride(from: 0, to: places.count, by: PurchaseRedactor.pageSize) {
            identities += try notifications.read(places[start...].prefix(PurchaseRedactor.pageSize), on: connection)
                .map(\.identity)
        }
        var counts = try EventRedactor(deletion: deletion).erase(
            try EventRedactor.events(of: key, on: connection),
            more: try PurchaseRedactor.deliveries(of: identities, in: key.lane, on: connection), on: connection)
        counts.merge(try StoredNotifications.delete(places, on: connection), uniquingKeysWith: +)
        // Its names follow from its facts.
        let facts = try FactTable.load([key], on: connection).first ?? PurchaseFacts()
        let names = Purchase(folding: facts, key: key)?.identifiers ?? []
        counts["purchase_identifier"] = Int64(
            try connection.query(
                PurchaseRedactor.deleteIdentifiers,
                [
                    .texts(names.union([key.originalTransactionID]).sorted()), .text(key.app),
                    .int2(key.environment.code), .text(key.originalTransactionID),
                ] + PurchaseRedactor.lane(of: key, on: connection)
            ).count)
        counts["rebuild"] = Int64(
            try connection.query(ActionRedactor.resetRebuilds, [.texts([key.originalTransactionID])]).count)
        try admitPosts(of: key, parameters, on: connection)
        counts["fact"] = Int64(try connection.query(PurchaseRedactor.deleteFacts, parameters).count)
        try PurchaseFoldTable.remove([key], on: connection)
        try PurchaseTable.remove([key], on: connection)
        // After the record: reports are computed beside this, and written only while the record is there.
        for (table, _) in try PersonalDataMap.ofPurchases(on: connection) {
            counts[table] = Int64(
                try connection.query(
                    """
                    DELETE FROM entitled.\(table)
                    WHERE lane = $1 AND original_transaction_id = $2 AND app = $3 AND environment = $4 RETURNING 1
                    """, parameters
                ).count)
        }
        if let owner = subject.owner { try removeIdle(owner, on: connection) }
        return counts
    }

    /// A customer who posts a transaction of it again gets it again. Its facts are still there.
    private func admitPosts(
        of key: PurchaseKey, _ parameters: [PostgresValue], on connection: PostgresConnection
    ) throws {
        let identities = try connection.query(PurchaseRedactor.selectSigned, parameters).map { row in
            NotificationIdentity.posted(
                try FactCodec.restore(try row.bytes("payload")), app: key.app, environment: key.environment)
        }
        _ = try connection.query(
            PurchaseRedactor.deleteKeys,
            [.uuids(identities.map(\.key)), .text(key.app), .int2(key.environment.code)]
                + PurchaseRedactor.lane(of: key, on: connection))
    }

    /// A cluster finds names by their lane.
    private static func lane(of key: PurchaseKey, on connection: PostgresConnection) -> [PostgresValue] {
        connection.isCluster ? [.int2(key.lane.number)] : []
    }

    /// The anonymous owner that the deletion made, once nothing is theirs; not where they are one with another customer, or the log
    /// names them.
    private func removeIdle(_ owner: String, on connection: PostgresConnection) throws {
        let locked = try CustomerTable.lock([owner], on: connection)
        try PurchaseLanes.awaitGiven(to: [owner], on: connection)
        guard let root = locked.first ?? nil,
            try CustomerTable.load([owner], on: connection)[owner]?.appUserIDs == [owner],
            try ActionTable.entries(naming: [owner], on: connection).isEmpty,
            try PurchaseTable.owned(by: [owner], on: connection).isEmpty
        else { return }
        try PurchaseLanes.remove(CustomerTable.delete(root, on: connection), on: connection)
    }
}
