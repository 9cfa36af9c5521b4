import Base
import Postgres

/// What is to become of a setting that may also be absent.
package enum SettingChange<Value: Sendable>: Sendable {
    case keep
    case set(Value)
    case clear
}

extension SettingChange: Equatable where Value: Equatable {}

/// Changes to an endpoint; what is nil, or kept, stays as it is.
package struct EndpointEdit: Sendable {
    package var url: String?
    /// Filters; empty: all.
    package var environments: [StoreEnvironment]?
    package var events: [String]?
    package var exceptedEvents: [String]?
    package var apps: [String]?
    package var authorization = SettingChange<Redacted<String>>.keep
    package var retrySchedule = SettingChange<RetrySchedule>.keep
    /// Counts for events that are made from then on; what is blocked already still goes out in order.
    package var ordering: Ordering?
    package var includesSubscriber: Bool?
    package var extensionVersion: String?
    /// Headers to be set, each in the place of the one that has its name.
    package var headers: [CustomHeader] = []
    /// Names of headers to be taken away.
    package var withoutHeaders: [String] = []
    /// Whether a key pair signs beside the secret.
    package var isAsymmetric: Bool?
    /// The URL that it has to have for that; nil: any.
    package var formerURL: String?
    /// Whether no authorization and no header may stay that it has already.
    package var keepsNoSecrets = false

    package init() {}

    /// Whether something secret would stay that may not.
    fileprivate func takesAlong(secretsOf former: Endpoint) -> Bool {
        let staying = former.headerNames.filter { name in
            !headers.contains { $0.isNamed(name) } && !withoutHeaders.contains { $0.lowercased() == name.lowercased() }
        }
        return keepsNoSecrets && (former.hasAuthorization && authorization == .keep || !staying.isEmpty)
    }
}

/// Changes endpoints, and neither their secrets nor what waits for them.
package enum EndpointUpdate {
    package enum UpdateResult: Sendable, Equatable {
        case changed
        case notFound
        /// The headers that stay cannot be opened, to be sealed together with the new ones.
        case headersUnreadable
        case tooManyHeaders
        /// It has another URL than it has to have, or would take what is secret along to another server.
        case isElsewhere
    }

    /// - Throws: `SealingKeyRegister.Missing`.
    package static func run(
        _ changes: EndpointEdit, of id: String, sealer: SecretSealer, now: Int64, on connection: PostgresConnection
    ) throws -> UpdateResult {
        try SealingKeyRegister.sealing(with: sealer, now: now, on: connection) { sealer in
            guard try EndpointSecrets.lockEndpoint(id, on: connection),
                let former = try EndpointTable.load(id: id, sealer: sealer, now: now, on: connection).first
            else { return .notFound }
            guard changes.formerURL ?? former.url == former.url, !changes.takesAlong(secretsOf: former) else {
                return .isElsewhere
            }
            let changesHeaders = !changes.headers.isEmpty || !changes.withoutHeaders.isEmpty
            let headers = changesHeaders ? headers(changes, former) : []
            guard let headers else { return .headersUnreadable }
            guard headers.count <= CustomHeader.limit else { return .tooManyHeaders }
            try write(changes, former, changesHeaders ? headers : nil, sealer, on: connection)
            try changeKeyPair(changes, former, sealer, now: now, on: connection)
            return .changed
        }
    }

    /// All of them as they will be; nil if some that stay are not known.
    private static func headers(_ changes: EndpointEdit, _ former: Endpoint) -> [CustomHeader]? {
        func goes(_ name: String) -> Bool {
            changes.headers.contains { $0.isNamed(name) }
                || changes.withoutHeaders.contains { $0.lowercased() == name.lowercased() }
        }
        let staying = former.headers.filter { !goes($0.name) }
        guard staying.count == former.headerNames.filter({ !goes($0) }).count else { return nil }
        return staying + changes.headers
    }

    private static let update = """
        UPDATE entitled.endpoint
        SET url = $2, environments = $3, events = $4, apps = $5, retry_schedule_ms = $6,
            authorization_sealed = CASE WHEN $7 THEN $8::bytea ELSE authorization_sealed END,
            has_authorization = CASE WHEN $7 THEN $8::bytea IS NOT NULL ELSE has_authorization END,
            header_names = CASE WHEN $9 THEN $10::text[] ELSE header_names END,
            headers_sealed = CASE WHEN $9 THEN $11::bytea ELSE headers_sealed END, ordering = $12
        WHERE id = $1
        """

    /// - Parameter headers: all of them as they will be; nil where they stay as they are.
    private static func write(
        _ changes: EndpointEdit, _ former: Endpoint, _ headers: [CustomHeader]?, _ sealer: SecretSealer,
        on connection: PostgresConnection
    ) throws {
        let schedule =
            switch changes.retrySchedule {
            case .keep: former.retrySchedule
            case .set(let schedule): schedule
            case .clear: RetrySchedule?.none
            }
        let (changesAuthorization, authorization): (Bool, [UInt8]?) =
            switch changes.authorization {
            case .keep: (false, nil)
            case .set(let value): (true, try sealer.seal(Array(value.exposed.utf8), for: former.id))
            case .clear: (true, nil)
            }
        _ = try connection.query(
            update,
            [
                .text(former.id), .text(changes.url ?? former.url),
                .texts((changes.environments ?? former.environments).map(\.rawValue)),
                .texts(changes.events ?? former.events), .texts(changes.apps ?? former.apps),
                schedule.map { .int8s($0.waits) } ?? .null, .bool(changesAuthorization), .bytea(authorization),
                .bool(headers != nil), .texts((headers ?? []).map(\.name)),
                .bytea(try EndpointTable.sealed(headers ?? [], of: former.id, with: sealer)),
                .text((changes.ordering ?? former.ordering).rawValue),
            ])
        let (excepted, includes, version) = (
            changes.exceptedEvents ?? former.exceptedEvents, changes.includesSubscriber ?? former.includesSubscriber,
            changes.extensionVersion ?? former.extensionVersion
        )
        guard
            excepted != former.exceptedEvents || includes != former.includesSubscriber
                || version != former.extensionVersion
        else { return }
        try EndpointContent.write(
            excepted, includesSubscriber: includes, extensionVersion: version, of: former.id, on: connection)
    }

    private static func changeKeyPair(
        _ changes: EndpointEdit, _ former: Endpoint, _ sealer: SecretSealer, now: Int64,
        on connection: PostgresConnection
    ) throws {
        let id = former.id
        switch changes.isAsymmetric {
        case true?:
            // A private key that is lost makes room for a new one.
            if former.unreadable.contains(.privateKey) { try EndpointSecrets.removeKeyPairs(of: id, on: connection) }
            guard try EndpointSecrets.list(of: id, now: now, on: connection).keyPairs.isEmpty else { return }
            _ = try EndpointSecrets.makeKeyPair(of: id, sealer, now: now, on: connection)
        case false?: try EndpointSecrets.removeKeyPairs(of: id, on: connection)
        case nil: break
        }
    }
}
