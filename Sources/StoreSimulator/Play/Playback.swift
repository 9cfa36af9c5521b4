import Base
import Daemon

/// Sends the letters of a plan to a receiver, on several connections, as fast or as evenly as wanted.
package struct Playback: Sendable {
    /// One request and its answer.
    package struct Attempt: Sendable {
        package let name: String
        package let uuid: String
        /// Milliseconds since 1970.
        package let signedDate: Int64
        /// Counted from 1.
        package let number: Int
        /// As in `PlayReport.answers`.
        package let answer: String
        package let isAccepted: Bool
        /// Seconds until the next attempt; nil when there is none.
        package let retryAfter: Duration?
        package let latency: Duration
    }

    package var plan: PlaybackPlan
    package var receiver: ReceiverURL
    package var connections = 4
    /// Requests in a second; 0 for as fast as possible.
    package var rate = 0.0
    /// Sends each when it is signed, for plans that end in the future; leaves `rate` out of account.
    package var isLive = false
    /// Sends a notification only when the one before it of the same subscriber was accepted, or given up.
    package var keepsOrder = false
    /// Waits before further attempts of what was not accepted.
    package var retrySchedule: [Duration] = []
    /// Of one request.
    package var timeout = Duration.seconds(30)
    /// How many notifications are signed before sending begins, and at most ahead of it; about 19 KB each.
    package var ahead = 20_000
    /// Called on the senders' threads, after each answer.
    package var onAttempt: (@Sendable (Attempt) -> Void)?

    package init(plan: PlaybackPlan, receiver: ReceiverURL) {
        self.plan = plan
        self.receiver = receiver
    }

    /// Where a running play is.
    package struct Progress: Sendable, Equatable {
        package let planned: Int
        package let sent: Int
        /// Whether `planned` is final.
        package let isComplete: Bool
        /// False while it only signs ahead.
        package let isSending: Bool

        /// 0 to 1 of what is planned so far.
        var fraction: Double { planned > 0 ? Double(sent) / Double(planned) : 0 }

        var text: String {
            guard isSending else { return "signing ahead: \(planned)" }
            return isComplete && planned > 0 ? "\(sent) of \(planned)" : "\(sent) sent"
        }
    }

    /// Runs to the end. `onProgress` is called on this thread, every fifth of a second.
    package func run(
        _ pki: StorePKI, onProgress: (Progress) -> Void = { _ in }
    ) -> PlayReport {
        let signer = NotificationSigner(pki)
        let queue = PlayQueue(ahead: max(1, ahead), pace: pace, keepsOrder: keepsOrder)
        let report = Monitor(PlayReport())
        let plan = plan
        _ = ServiceThread("plan") {
            plan.forEach {
                queue.add($0)
                return true
            }
            queue.complete()
        }
        for number in 0..<2 {
            _ = ServiceThread("sign-\(number)") { Playback.signAhead(queue, signer) }
        }
        let senders = (0..<max(1, connections)).map { number in
            ServiceThread("send-\(number)") {
                let mine = send(from: queue, signer)
                report.change { $0.add(mine) }
            }
        }
        for sender in senders {
            while !sender.join(timeout: .milliseconds(200)) {
                onProgress(Playback.progress(queue))
            }
        }
        onProgress(Playback.progress(queue))
        return report.read { $0 }
    }

    private var pace: PlayQueue.Pace {
        if isLive { return .asSigned(SystemClock()) }
        return rate > 0 ? .every(.seconds(1 / rate)) : .asFastAsPossible
    }

    private static func progress(_ queue: PlayQueue) -> Progress {
        let (planned, taken, isComplete, isOpen) = queue.progress
        return Progress(planned: planned, sent: taken, isComplete: isComplete, isSending: isOpen)
    }

    private static func signAhead(_ queue: PlayQueue, _ signer: NotificationSigner) {
        var isFirst = true
        while let letter = queue.nextToSign(afterFirst: !isFirst) {
            isFirst = false
            // A notification that cannot be signed fails when it is sent, where it is reported.
            _ = try? letter.body(signer)
        }
    }

    private func send(from queue: PlayQueue, _ signer: NotificationSigner) -> PlayReport {
        let connection = ReceiverConnection(to: receiver, timeout: timeout)
        var names = AnswerNames()
        var report = PlayReport()
        while let delivery = queue.take() {
            let start = rate > 0 && !isLive ? delivery.due : .now
            report.began = report.began ?? start
            var (answer, isAccepted) = ("", false)
            do {
                let body = try delivery.letter.body(signer)
                let got = try connection.post(body)
                (answer, isAccepted) = (names.name(got), got.isAccepted)
                report.latencies.add(start.duration(to: .now))
            } catch {
                answer = "no answer: \(error)"
            }
            let retryAfter =
                isAccepted || delivery.attempt > retrySchedule.count ? nil : retrySchedule[delivery.attempt - 1]
            report.requests += 1
            report.answers[answer, default: 0] += 1
            report.accepted += isAccepted ? 1 : 0
            report.failed += isAccepted || retryAfter != nil ? 0 : 1
            report.ended = .now
            onAttempt?(
                Attempt(
                    name: delivery.letter.notification.name, uuid: delivery.letter.notification.uuid,
                    signedDate: delivery.letter.notification.signedDate,
                    number: delivery.attempt, answer: answer, isAccepted: isAccepted, retryAfter: retryAfter,
                    latency: start.duration(to: .now)))
            queue.done(delivery, retryAfter: retryAfter)
        }
        return report
    }
}
