import AppStore
import Base
import Daemon
import Database
import Glibc
import Subscriptions

/// A pending notification, decoded and verified as far as applying it needs.
struct DecodedNotification: Sendable {
    enum Content: Sendable {
        /// Facts about a purchase, and why we hear of them; `signed` in ms.
        case facts(PurchaseKey, [FactRow], Cause, signed: Int64)
        /// It is about no purchase (a summary, a token, an unknown type): kept, and no record changes.
        case announcement(PurchaseKey, FactRow)
        /// It carries nothing (TEST).
        case nothing
        /// It must not become a record now, and why.
        case held(String)
    }

    let pending: PendingNotification
    let content: Content

    /// One that could not be applied for what is in it.
    static func failed(_ pending: PendingNotification, _ error: any Error) -> DecodedNotification {
        DecodedNotification(pending: pending, content: .held("could not be applied: \(error)"))
    }
}

/// Decodes pending notifications and verifies what is signed inside them. Touches no database.
struct NotificationDecoder: Sendable {
    private let inspector: SignedDataInspector
    private let dictionaries: HeaderDictionaries
    private let bundleIDs: [String: String]

    /// - Parameter bundleIDs: of the apps, by their ids.
    init(verifier: SignedDataVerifier, dictionaries: HeaderDictionaries, bundleIDs: [String: String]) {
        inspector = SignedDataInspector(verifier: verifier)
        self.dictionaries = dictionaries
        self.bundleIDs = bundleIDs
    }

    /// So many at least for each thread that takes part.
    private static let share = 32

    /// All of them, in their order, by as many threads as pay: signatures are most of a worker's time.
    func prepare(_ pending: [PendingNotification]) -> [DecodedNotification] {
        let cores = Int(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        let parts = max(1, min(4, cores, pending.count / NotificationDecoder.share))
        guard parts > 1 else { return pending.map(prepare) }
        let size = (pending.count + parts - 1) / parts
        let made = Monitor<[Int: [DecodedNotification]]>([:])
        @Sendable func prepareAll(of part: Int) -> [DecodedNotification] {
            pending.dropFirst(part * size).prefix(size).map(prepare)
        }
        let threads = (1..<parts).compactMap { part in
            ServiceThread(orNil: "prepare-\(part)") {
                let prepared = prepareAll(of: part)
                made.change { $0[part] = prepared }
            }
        }
        let first = prepareAll(of: 0)
        for thread in threads { thread.join() }
        let others = made.read { $0 }
        // A part that no thread was to be had for is prepared here.
        return (1..<parts).reduce(into: first) { $0 += others[$1] ?? prepareAll(of: $1) }
    }

    private func prepare(_ pending: PendingNotification) -> DecodedNotification {
        DecodedNotification(pending: pending, content: content(of: pending))
    }

    private func content(of pending: PendingNotification) -> DecodedNotification.Content {
        if let gap = pending.gap { return .held(gap) }
        let bytes: [UInt8]
        do {
            bytes = try dictionaries.restore(pending.stored, header: pending.header)
        } catch {
            return .held("the stored payload cannot be restored: \(error)")
        }
        guard let payload = NotificationPayload(payload: bytes) else {
            return .held("the stored payload is no notification")
        }
        if let fault = misplacement(of: payload, under: pending.identity) { return .held(fault) }
        switch inspector.nestedData(of: payload) {
        case .failure(let failure):
            return .held("\(failure.reason.rawValue): \(failure.detail)")
        case .success(let nested):
            return facts(payload, nested, pending, bytes)
        }
    }

    /// Who may only add notifications says under which app and environment. What Apple signed, for any app in the world, must
    /// not become a purchase of another one: its product ids may be the same.
    private func misplacement(of payload: NotificationPayload, under identity: NotificationIdentity) -> String? {
        guard let subject = payload.subject else { return nil }
        if subject.environment != identity.environment.rawValue { return "it is of another environment than its entry" }
        guard let bundleID = bundleIDs[identity.app] else { return nil }
        return subject.bundleId == bundleID ? nil : "it is of another app than its entry"
    }

    private func facts(
        _ payload: NotificationPayload, _ nested: NestedData, _ pending: PendingNotification, _ bytes: [UInt8]
    ) -> DecodedNotification.Content {
        let transactionID = nested.transaction?.payload.originalTransactionId
        let renewalID = nested.renewal?.payload.originalTransactionId
        guard nested.transaction != nil || nested.renewal != nil else {
            return announcement(payload, pending, bytes)
        }
        guard let originalID = transactionID ?? renewalID else {
            return .held("what Apple signed has no originalTransactionId")
        }
        if let renewalID, renewalID != originalID {
            return .held("the renewal info is about another purchase than the transaction")
        }
        let identity = pending.identity
        let key = PurchaseKey(
            app: identity.app, environment: identity.environment, originalTransactionID: originalID)
        guard key.lane == pending.lane else {
            return .held("the purchase belongs to another lane than the notification")
        }
        var rows: [FactRow] = []
        if let part = nested.transaction {
            if let flaw = part.payload.flaw { return .held("the transaction \(flaw)") }
            guard let fact = TransactionFact(part.payload, tie: part.jws.payload) else {
                return .held("the transaction lacks its id, product or purchase date")
            }
            rows.append(row(.transaction, part.jws, fact.signedDate, .transaction(fact)))
        }
        // What is around a posted transaction is unsigned, and it is no notification of Apple's.
        if pending.source == .posted || (pending.source.isImported && payload.data?.status == nil) {
            guard let fact = rows.first else { return .held("no transaction is in what an app posted") }
            return .facts(key, rows, .observation(id: payload.notificationUUID), signed: fact.signedDate)
        }
        if let flaw = nested.renewal?.payload.flaw { return .held("the renewal info \(flaw)") }
        if let part = nested.renewal, let fact = RenewalFact(part.payload, tie: part.jws.payload) {
            rows.append(row(.renewal, part.jws, fact.signedDate, .renewal(fact)))
        }
        let signedDate = payload.signedDate ?? rows.first?.signedDate ?? 0
        let fact = NotificationFact(
            uuid: payload.notificationUUID, type: payload.notificationType.rawValue,
            subtype: payload.subtype?.rawValue, status: payload.data?.status.map { Int(clamping: $0) },
            transactionID: NotificationFact.typesAboutTransactions.contains(payload.notificationType.rawValue)
                ? nested.transaction?.payload.transactionId : nil,
            consumptionRequestReason: payload.data?.consumptionRequestReason, signedDate: signedDate)
        // As it will be read back: the bytes that are kept break ties.
        var kept = fact
        kept.tie = fact.payload
        rows.append(
            FactRow(
                kind: .notification, signedDate: signedDate, header: nil, signature: nil, payload: kept.tie,
                fact: .notification(kept)))
        return .facts(key, rows, .notification(fact), signed: signedDate)
    }

    /// What is about no purchase goes under its own UUID, which chose its lane.
    private func announcement(
        _ payload: NotificationPayload, _ pending: PendingNotification, _ bytes: [UInt8]
    ) -> DecodedNotification.Content {
        guard payload.notificationType != .test else { return .nothing }
        let identity = pending.identity
        let key = PurchaseKey(
            app: identity.app, environment: identity.environment, originalTransactionID: identity.uuid.lowercased())
        guard key.lane == pending.lane else { return .nothing }
        return .announcement(
            key,
            FactRow(
                kind: .announcement, signedDate: payload.signedDate ?? 0, header: pending.header,
                signature: pending.stored.signature, payload: bytes))
    }

    private func row(
        _ kind: FactRow.Kind, _ jws: VerifiedJWS, _ signedDate: Int64, _ fact: FactRow.Fact
    ) -> FactRow {
        FactRow(
            kind: kind, signedDate: signedDate, header: jws.header, signature: jws.signature, payload: jws.payload,
            fact: fact)
    }
}
