import Base
import Database
import Postgres

/// Goes through what a replay may be about, and says of each what there is to do.
struct CandidateScan {
    enum Candidate: Sendable {
        /// It is not meant.
        case other
        /// It is meant, and its body is gone.
        case gone
        /// It is on its way already.
        case waits
        /// It has a delivery that is over.
        case again(DeliveryReplay.Ended, type: String)
        /// It has no delivery.
        case first(DeliveryReplay.EventKey, type: String)
    }

    private let replay: WebhookReplay
    private var events = EventScan()
    private let letters = DeadLetterScan()

    init(_ replay: WebhookReplay) {
        self.replay = replay
    }

    /// The states in which a delivery is over.
    var reopened: [DeliveryState] { replay.mode == .failed ? [.dead] : [.dead, .delivered] }

    /// Call it in a transaction.
    ///
    /// - Parameter endpoint: the one that the replay is for.
    mutating func page(
        of endpoint: Endpoint, from start: ScanCursor, until: Int64, on connection: PostgresConnection
    ) throws -> ScanPage<Candidate> {
        guard replay.mode != .failed else {
            let page = try letters.page(of: endpoint.id, from: start, until: until, on: connection)
            let rows = page.rows.map { (row: candidate($0.row), position: $0.position) }
            return ScanPage(rows: rows, end: page.end, isLast: page.isLast)
        }
        let page = try events.page(from: start, until: until, on: connection)
        let wanted = page.rows.map(\.row).filter { isWanted($0, by: endpoint) }
        let states = try DeliveryReplay.states(of: wanted.map(\.key), to: endpoint.id, on: connection)
        let missed = try replay.missed.map { signed in
            try MissedEvents.among(
                wanted.map(\.key).filter { states[$0.id] == nil }, signed: signed, on: connection)
        }
        let rows = page.rows.map { event, position in
            let isMeant = missed?.contains(event.key) ?? true
            return (row: isMeant ? candidate(event, of: endpoint, states[event.key.id]) : .other, position: position)
        }
        return ScanPage(rows: rows, end: page.end, isLast: page.isLast)
    }

    private func isMeant(_ type: String) -> Bool { replay.types.isEmpty || replay.types.contains(type) }

    private func isWanted(_ event: EventScan.Event, by endpoint: Endpoint) -> Bool {
        guard isMeant(event.type), let environment = event.environment else { return false }
        return endpoint.wants(type: event.type, app: event.app, environment: environment)
    }

    private func candidate(_ letter: DeadLetterScan.Letter) -> Candidate {
        guard letter.isDead, isMeant(letter.type) else { return .other }
        return letter.isGone ? .gone : .again(letter.delivery, type: letter.type)
    }

    private func candidate(
        _ event: EventScan.Event, of endpoint: Endpoint, _ state: DeliveryState?
    ) -> Candidate {
        guard isWanted(event, by: endpoint) else { return .other }
        guard let state else {
            // Tests and copies were made for one endpoint, which has them.
            if event.isCopy || event.type == "TEST" { return .other }
            return event.isGone ? .gone : .first(event.key, type: event.type)
        }
        guard replay.mode == .all else { return .other }
        if state == .pending || state == .held { return .waits }
        let id = DeliveryID(lane: event.key.lane, event: event.key.id, endpoint: endpoint.id)
        return event.isGone ? .gone : .again(DeliveryReplay.Ended(id: id, event: event.key), type: event.type)
    }
}
