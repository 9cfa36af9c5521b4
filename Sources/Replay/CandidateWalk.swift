import Base
import Postgres
import Queue
import Records

/// Goes through what a replay may be about, and says of each what there is to do.
struct CandidateWalk {
    enum Standing: Sendable {
        /// It is not meant.
        case other
        /// It is meant, and its body is gone.
        case gone
        /// It is on its way already.
        case waits
        /// It has a delivery that is over.
        case again
        /// It has no delivery.
        case first
    }

    struct Candidate {
        let event: DeliveryReplay.EventKey
        /// The delivery, where it is of a notification as it came.
        var notification: DeliveryID?
        let standing: Standing
    }

    private let replay: WebhookReplay
    private var events = EventWalk()
    private let letters = DeadLetterWalk()

    init(_ replay: WebhookReplay) {
        self.replay = replay
    }

    /// The states in which a delivery is over.
    var reopened: [DeliveryState] { replay.mode == .failed ? [.dead] : [.dead, .delivered] }

    /// Call it in a transaction.
    ///
    /// - Parameter endpoint: the one that the replay is for.
    mutating func page(
        of endpoint: Endpoint, from start: WalkPosition, until: Int64, on connection: PostgresConnection
    ) throws -> WalkPage<Candidate> {
        guard replay.mode != .failed else {
            let page = try letters.page(of: endpoint.id, from: start, until: until, on: connection)
            let rows = page.rows.map { (row: candidate($0.row), position: $0.position) }
            return WalkPage(rows: rows, end: page.end, isLast: page.isLast)
        }
        let page = try events.page(from: start, until: until, on: connection)
        let wanted = page.rows.map(\.row).filter { isWanted($0, by: endpoint) }
        let states = try DeliveryReplay.states(of: wanted.map(\.key), to: endpoint.id, on: connection)
        let rows = page.rows.map { event, position in
            (row: candidate(event, of: endpoint, states[event.key.id]), position: position)
        }
        return WalkPage(rows: rows, end: page.end, isLast: page.isLast)
    }

    private func isMeant(_ type: String) -> Bool { replay.types.isEmpty || replay.types.contains(type) }

    private func isWanted(_ event: EventWalk.Event, by endpoint: Endpoint) -> Bool {
        guard isMeant(event.type), let environment = event.environment else { return false }
        return endpoint.wants(type: event.type, app: event.app, environment: environment)
    }

    private func candidate(_ letter: DeadLetterWalk.Letter) -> Candidate {
        let isMeant = letter.isDead && isMeant(letter.type)
        return Candidate(
            event: letter.event, notification: letter.notification,
            standing: !isMeant ? .other : letter.isGone ? .gone : .again)
    }

    private func candidate(
        _ event: EventWalk.Event, of endpoint: Endpoint, _ state: DeliveryState?
    ) -> Candidate {
        Candidate(event: event.key, standing: isWanted(event, by: endpoint) ? standing(event, state) : .other)
    }

    private func standing(_ event: EventWalk.Event, _ state: DeliveryState?) -> Standing {
        guard let state else {
            // Tests and copies were made for one endpoint, which has them.
            if event.isCopy || event.type == "TEST" { return .other }
            return event.isGone ? .gone : .first
        }
        guard replay.mode == .all else { return .other }
        if state == .pending || state == .held { return .waits }
        return event.isGone ? .gone : .again
    }
}
