import Base
import Database
import Schemas

/// Endpoints that the sealing keys of this host do not open, for `endpoints list` and `endpoints show`.
struct UnreadableEndpoints {
    /// What is unreadable, by the endpoints' ids; nil where this user may not read what is sealed.
    private let parts: [String: [SealedPart]]?
    private let lacksKey: Bool

    /// Reads as the worker's role; both commands work without it.
    static func load(_ configuration: Configuration, id: String? = nil) -> UnreadableEndpoints {
        guard let connection = try? DatabaseAccess(configuration).connect(.worker),
            let sealer = try? SealingKeys.existing(configuration) ?? SecretSealer(keys: []),
            let missing = try? SealingKeyRegister.missing(from: sealer, on: connection).map({ !$0.isEmpty }) ?? false,
            let endpoints = try? EndpointTable.load(
                id: id, sealer: sealer, now: SystemClock().now(), on: connection)
        else { return UnreadableEndpoints(parts: nil, lacksKey: false) }
        let broken = endpoints.filter { !$0.isSendable }.map { ($0.id, $0.unreadable) }
        return UnreadableEndpoints(parts: Dictionary(broken) { first, _ in first }, lacksKey: missing)
    }

    /// The document with a member `unreadable`, if it is known.
    func adding(to document: JSON, of id: String) -> JSON {
        guard let parts else { return document }
        let names = JSON.strings((parts[id] ?? []).map(\.rawValue))
        return .object((document.members ?? []) + [JSON.Member(name: "unreadable", value: names)])
    }

    /// For people: a line for each endpoint, then the remedy.
    func lines(_ configuration: Configuration) -> [String] {
        guard let parts, !parts.isEmpty else { return [] }
        let lines = parts.sorted { $0.key < $1.key }.map { id, parts in
            "\(id): no key on this host opens its \(parts.map(\.text).joined(separator: ", ")); its deliveries wait"
        }
        return lacksKey
            ? lines + [SealingKeys.remedy(configuration)]
            : lines
                + parts.keys.sorted().flatMap { id in
                    UnreadableEndpoints.remedies(id, parts[id] ?? [])
                }
    }

    /// The commands that give an endpoint what it lacks, where the key in use is here.
    static func remedies(_ id: String, _ parts: [SealedPart]) -> [String] {
        parts.map { part in
            switch part {
            case .secret: "a new secret: entitled secrets reset --endpoint \(id)"
            case .privateKey: "a new key pair: entitled endpoints update \(id) --asymmetric; none: --symmetric"
            case .authorization:
                "the authorization: entitled endpoints update \(id) --authorization-file FILE; none: --no-authorization"
            case .headers:
                "all headers: entitled endpoints update \(id) --header-file FILE; none: --no-header NAME for each"
            }
        }
    }
}
