import Base

extension NotificationIdentity {
    /// Of everything that the notification brings about: its UUID.
    package var trace: TraceID? { TraceID(key) }
}

extension DueDelivery {
    /// That of the notification that made its event; of an event that none made, its own id.
    package var trace: TraceID? { TraceID(cause ?? event) }

    /// The span of one attempt: another for each attempt.
    ///
    /// - Parameter timestamp: when it is made; s since 1970.
    package func attemptSpan(at timestamp: Int64) -> SpanID {
        let when = [Int64(attempts), timestamp].flatMap { number in
            (0..<8).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
        }
        return SpanID(of: "attempt", id.bytes + when)
    }

    /// That of the notification's application, where a notification made the event.
    package var parentSpan: SpanID? { cause.map { SpanID(of: "apply", $0) } }
}
