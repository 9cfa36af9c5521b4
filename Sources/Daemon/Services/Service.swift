import Base

/// One duty of a process, from its start to its orderly end.
package protocol Service: Sendable {
    /// As log lines name it.
    var name: String { get }

    /// Opens what it needs and begins; returns when it is ready.
    func start() throws

    /// Takes nothing new, finishes what is in flight, lets go of what it holds; returns when done or at the deadline.
    func drain(until deadline: ContinuousClock.Instant)
}
