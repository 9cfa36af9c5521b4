import Postgres

extension PrivateClusterSettings {
    /// Survives a power cut; for benchmarks and tests that look into the server.
    package static let durableForMeasuring = PrivateClusterSettings(
        isDurable: true, connections: 100, isOwnerSuperuser: true)

    /// Survives the end of processes, not of the machine.
    package static let throwAway = PrivateClusterSettings(
        isDurable: false, connections: 200, isOwnerSuperuser: true)

    /// The same with a login as in production.
    package static let throwAwayAsInProduction = PrivateClusterSettings(
        isDurable: false, connections: 100, isOwnerSuperuser: false)
}
