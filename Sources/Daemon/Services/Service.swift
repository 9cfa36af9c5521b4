import Base

/// One duty of a process, from its start to its orderly end.
package protocol Service: Sendable {
    /// As log lines name it.
    var name: String { get }

    /// Opens what it needs and begins; returns when it is ready.
    func start() throws

    /// Takes nothing new, finishes what is in flight, lets go of what it holds; returns when done or at the deadline.
    func drain(until deadline: ContinuousClock.Instant)

    /// The same where others have taken its place and the process goes on: what clients wait for is finished, not refused.
    func retire(until deadline: ContinuousClock.Instant)
}

extension Service {
    package func retire(until deadline: ContinuousClock.Instant) { drain(until: deadline) }
}
