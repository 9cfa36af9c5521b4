import Base
import Postgres

/// New secrets for endpoints, and a new sealing key where the one in use is lost: all of it in one transaction.
///
/// Authorization headers, custom headers and private keys that no key opens stay as they are, so that nothing is sent
/// without them: the operator gives them again, or takes them away.
package enum SecretReset {
    /// What a reset would do.
    package struct Plan: Sendable {
        /// The key in use, if this host lacks it.
        package let lostKey: String?
        /// The endpoints that get new secrets.
        package let endpoints: [Endpoint]
        /// Whether some of them have secrets that a key opens.
        package var replacesWorking: Bool { endpoints.contains { !$0.unreadable.contains(.secret) } }
    }

    /// An endpoint with its new secret.
    package struct Renewed: Sendable {
        package let id: String
        package let secret: WebhookSecret
        /// What has to be given again before anything is sent to it.
        package let unreadable: [SealedPart]
    }

    /// The key in use is not lost: workers on these hosts have it.
    package struct KeyElsewhere: Error, Sendable, Equatable {
        package let fingerprint: String
        package let hosts: [String]
    }

    /// Changes nothing. The endpoint named, or those whose secrets no key opens; all of them where neither a key nor a
    /// secret is lost.
    ///
    /// - Parameters:
    ///   - sealer: the keys of this host; none where it has none.
    ///   - patience: how long ago a worker may have been seen that has the key; ms.
    /// - Throws: `KeyElsewhere`.
    package static func plan(
        for id: String?, sealer: SecretSealer, patience: Int64, now: Int64, on connection: PostgresConnection
    ) throws -> Plan {
        var lostKey: String?
        if let known = try SealingKeyRegister.inUse(on: connection), !sealer.fingerprints.contains(known) {
            let hosts = try SealingKeyRegister.hosts(with: known, patience: patience, on: connection)
            guard hosts.isEmpty else { throw KeyElsewhere(fingerprint: known, hosts: hosts) }
            lostKey = known
        }
        let all = try EndpointTable.load(id: id, sealer: sealer, now: now, on: connection)
        let lost = all.filter { $0.unreadable.contains(.secret) }
        let isAll = id != nil || (lostKey == nil && lost.isEmpty)
        return Plan(lostKey: lostKey, endpoints: isAll ? all : lost)
    }

    /// Does what was planned, as far as it is still to be done: a secret that works since then is replaced only if the
    /// plan named one that worked.
    ///
    /// - Parameter sealer: at least one key.
    /// - Throws: `KeyElsewhere`.
    package static func run(
        _ planned: Plan, for id: String?, sealer: SecretSealer, patience: Int64, now: Int64,
        on connection: PostgresConnection
    ) throws -> [Renewed] {
        try SealingKeyRegister.exclusively(on: connection) {
            let plan = try plan(for: id, sealer: sealer, patience: patience, now: now, on: connection)
            if plan.lostKey != nil { try SealingKeyRegister.use(sealer.fingerprint, now: now, on: connection) }
            return try SealingKeyRegister.sealing(with: sealer, now: now, on: connection) { sealer in
                let ids = Set(planned.endpoints.map(\.id))
                return try plan.endpoints.compactMap { endpoint in
                    guard ids.contains(endpoint.id),
                        planned.replacesWorking || endpoint.unreadable.contains(.secret)
                    else { return nil }
                    guard try EndpointSecrets.lockEndpoint(endpoint.id, on: connection) else { return nil }
                    return Renewed(
                        id: endpoint.id,
                        secret: try EndpointSecrets.replace(of: endpoint.id, sealer, now: now, on: connection),
                        unreadable: endpoint.unreadable.filter { $0 != .secret })
                }
            }
        }
    }
}
