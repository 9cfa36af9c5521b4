import Base
import Crypto
import Daemon
import Database
import Postgres
import Subscriptions

/// What operators change of endpoints, their deliveries and notifications.
extension ChangeWork {
    func resend(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let id = DeliveryID(text: change.target) else { return .refused("The target is no id of a delivery.") }
        switch try DeliveryRepair.resend(id, now: clock.now(), on: connection) {
        case .reopened: return .done(.object(["state": .string("pending")]))
        case .blocked: return .done(.object(["state": .string("blocked")]))
        case .notFound: return .refused("There is no delivery \(id.text).")
        case .endpointDisabled(let reason):
            return .refused("The endpoint of the delivery is disabled or removed (\(reason)).")
        case .gone(let reason): return .refused("The delivery cannot be sent any more: \(reason).")
        }
    }

    func resendEvent(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let id = UUIDText.bytes(change.target), let event = try EventQuery.find(id, on: connection).first else {
            return .refused("There is no event \(change.target).")
        }
        let endpoint = parameters["endpoint"]?.stringValue
        switch try EventRepair.resend(event, to: endpoint, now: clock.now(), on: connection) {
        case .notFound: return .refused("There is no event \(change.target).")
        case .gone: return .refused("The event is too old: its body is not kept any more.")
        case .done(let sent, let skipped):
            guard !sent.isEmpty else {
                let reasons = skipped.map { "\($0.endpoint): \($0.reason)" }.joined(separator: "; ")
                return .refused(
                    skipped.isEmpty
                        ? endpoint.map { "There is no endpoint \($0)." } ?? "No endpoint takes this event."
                        : "No endpoint can have it: \(reasons).")
            }
            return .done(
                .object([
                    "sent": .array(
                        sent.map {
                            .object([
                                "endpoint": .string($0.endpoint), "delivery": .string($0.delivery.text),
                                "state": .string($0.isBlocked ? "blocked" : "pending"),
                            ])
                        }),
                    "skipped": .array(
                        skipped.map { .object(["endpoint": .string($0.endpoint), "reason": .string($0.reason)]) }),
                ]))
        }
    }

    func reprocess(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let app = parameters["app"]?.stringValue,
            let environment = parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:))
        else { return .refused("The change names no app and environment.") }
        let outcome = try NotificationRepair.reprocess(
            uuid: change.target, app: app, environment: environment, on: connection)
        switch outcome {
        case .queued: return .done(.object(["state": .string("pending")]))
        case .notFound, .ambiguous:
            return .refused("There is no notification \(change.target) of \(app) in \(environment.rawValue).")
        case .dropped(let received):
            return .refused("The notification came \(Timestamp.text(received)) and is not kept any more.")
        }
    }

    /// The worker's lanes hold or release the deliveries, as after the command.
    func steer(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        let isThere: Bool
        switch change.kind {
        case .endpointEnable: isThere = try EndpointTable.enable(change.target, on: connection)
        case .endpointDisable:
            isThere = try EndpointTable.disable(
                change.target, reason: EndpointDisabling.byOperator.text, on: connection)
        default:
            guard let until = parameters["until"]?.intValue else { return .refused("The pause has no end.") }
            guard (0...ChangeWork.latest).contains(until) else {
                return .refused("The pause ends at no time between 1970 and the year 9999.")
            }
            isThere = try EndpointTable.pause(change.target, until: until, on: connection)
        }
        guard isThere else { return .refused("There is no endpoint \(change.target).") }
        return .done(.object(["endpoint": .string(change.target)]))
    }

    /// As the command does. The secret leaves this process sealed to the key of the one that asked: the console's role, which reads
    /// the job, has no use of it, and neither has a copy of the database.
    func rotate(_ change: Change, _ parameters: JSON, on connection: PostgresConnection) throws -> ChangeEnding {
        let key = parameters[ChangeVersions.answerKey]?.stringValue.flatMap(Hex.decode)
        // What was given is not told, so that it needs none.
        let hasKey = key.map { $0.count == AnswerKey.size } ?? (parameters[SecretIntake.member] != nil)
        guard hasKey, let overlap = parameters["overlap"]?.intValue,
            (0...EndpointSecrets.overlapLimit.milliseconds).contains(overlap)
        else { return .refused("The change has no key for the answer, or no overlap of at most 30 days.") }
        guard let endpoint = try EndpointTable.list(id: change.target, on: connection).first else {
            return .refused("There is no endpoint \(change.target).")
        }
        let given: WebhookSecret?
        switch self.given(change, parameters, url: endpoint.url) {
        case .success(let secrets): given = secrets.secret
        case .failure(let refusal): return .refused(refusal.sentence)
        }
        let rotated: EndpointSecrets.Rotated?
        do {
            rotated = try EndpointSecrets.rotate(
                of: change.target, to: given, overlap: .milliseconds(overlap), sealer: keys(), now: clock.now(),
                on: connection)
        } catch let many as EndpointSecrets.TooMany {
            return .refused(
                "\(EndpointSecrets.limit) secrets of the endpoint are valid already, the first until"
                    + " \(Timestamp.text(many.firstEnd)); a shorter overlap ends the former ones earlier.")
        } catch let missing as SealingKeyRegister.Missing {
            return .refused("The worker cannot seal a secret: \(missing).")
        }
        guard let rotated else { return .refused("There is no endpoint \(change.target).") }
        var sealed: [UInt8]?
        // The operator has the one that they gave.
        if given == nil {
            sealed = key.flatMap {
                try? AnswerKey.seal(Array(rotated.secret.text.utf8), to: $0, context: change.sealingContext)
            }
            // What was rotated is rolled back with it.
            guard sealed != nil else { throw NoAnswerKey() }
        }
        return .done(
            .object([
                "endpoint": .string(change.target), "former_secrets_end_at": .date(rotated.formerEnd),
                "public_key": .text(rotated.publicKey.map(WebhookPublicKey.text)),
                Change.sealed: sealed.map { .string(Hex.encode($0)) },
            ]))
    }

    /// The key for an answer is one to which nothing can be sealed.
    struct NoAnswerKey: Error, CustomStringConvertible {
        let description = "the key for the answer is not one of X25519"
    }
}
