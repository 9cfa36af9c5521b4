import Base
import Daemon

/// Sends what is due, on a few threads, with Apple's retries.
final class NotificationDispatch: Sendable {
    private let state: Monitor<StoreState>
    private let signer: NotificationSigner
    private let receiver: ReceiverURL
    private let timeout: Duration
    private let clock: any WallClock

    init(
        _ state: Monitor<StoreState>, _ signer: NotificationSigner, to receiver: ReceiverURL, timeout: Duration,
        clock: any WallClock
    ) {
        self.state = state
        self.signer = signer
        self.receiver = receiver
        self.timeout = timeout
        self.clock = clock
    }

    /// Until the store stops.
    func run() {
        let connection = ReceiverConnection(to: receiver, timeout: timeout)
        while true {
            let next = state.wait(timeout: untilNext()) { state -> Step? in
                if state.isStopping { return .stop }
                let now = clock.now()
                state.advance(to: now)
                guard let place = state.takeDue(at: now) else { return nil }
                let entry = state.history[place]
                return .send(entry.letter, place, isLost: entry.isLost || state.faults.isUndelivered(at: now))
            }
            switch next {
            case .stop: return
            case .send(let letter, let place, let isLost):
                let began = clock.now()
                let result = isLost ? "NO_RESPONSE" : send(letter, on: connection)
                state.change { $0.record(result, of: place, began: began, now: clock.now()) }
            case nil: break
            }
        }
    }

    private enum Step {
        case stop
        case send(PlannedNotification, Int, isLost: Bool)
    }

    private func untilNext() -> Duration {
        let next = state.read { $0.nextMoment } ?? .max
        return .milliseconds(max(1, min(next, clock.now() &+ 60_000) &- clock.now()))
    }

    private func send(_ letter: PlannedNotification, on connection: ReceiverConnection) -> String {
        do throws(NetworkFailure) {
            guard let body = try? letter.body(signer) else { return "OTHER" }
            let answer = try connection.post(body)
            return answer.isAccepted ? "SUCCESS" : "UNSUCCESSFUL_HTTP_RESPONSE_CODE"
        } catch {
            return NotificationDispatch.result(error.description)
        }
    }

    /// Apple's word for what the connection says.
    static func result(_ failure: String) -> String {
        if failure.contains("timed out") { return "TIMED_OUT" }
        if failure.contains("cannot connect") { return "SOCKET_ISSUE" }
        if failure.contains("not HTTP") { return "INVALID_RESPONSE" }
        return failure.contains("closed") ? "PREMATURE_CLOSE" : "NO_RESPONSE"
    }
}
