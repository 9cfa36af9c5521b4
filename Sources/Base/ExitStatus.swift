/// How a process ends, for shells and service managers. The units of systemd start no process again that ended with
/// `wrongUsage`: it would end so again.
package enum ExitStatus {
    package static let done: Int32 = 0
    /// The work could not be done; or a check found something (`doctor`, `compare`, `verify`, `rebuild --dry-run`).
    package static let failed: Int32 = 1
    /// Wrong arguments, or a mistake in the configuration. Nothing was done.
    package static let wrongUsage: Int32 = 2
    /// A second SIGTERM or SIGINT came before the process was drained: 128 and the number of SIGINT, as shells have it.
    package static let interrupted: Int32 = 130
}
