import Base
import Crypto
import Daemon
import Database
import HTTP
import Postgres

/// Endpoints that operators add, change, remove and test.
extension ChangeWork {
    /// Notes what operators' secrets are sealed to. False: no key of this host is in use.
    func publishIntake(on connection: PostgresConnection) throws -> Bool {
        try SecretIntake.publish(keys(), on: connection)
    }

    /// As the command does. The secret leaves this process as one that is rotated does.
    func addEndpoint(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let key = parameters[ChangeVersions.answerKey]?.stringValue.flatMap(Hex.decode),
            key.count == AnswerKey.size
        else { return .refused("The change has no key for the answer.") }
        guard EndpointTable.isNewID(change.target) else {
            return .refused("The target is no id that a new endpoint can have.")
        }
        guard try !EndpointTable.isTaken(change.target, on: connection) else {
            return .refused("There is an endpoint \(change.target), or there was one.")
        }
        let wanted: Wanted
        switch try wish(change, parameters, of: nil, on: connection) {
        case .success(let wish): wanted = wish
        case .failure(let refusal): return .refused(refusal.sentence)
        }
        let (form, given) = (wanted.form, wanted.given)
        let isFirebase = form.format == EndpointFormat.firebase
        let added: EndpointTable.Added
        do {
            added = try EndpointTable.add(
                change.target, url: wanted.url, authorization: given.authorization?.exposed,
                environments: form.environments ?? [], events: form.events ?? [],
                exceptedEvents: form.exceptedEvents ?? [], apps: form.apps ?? [],
                includesSubscriber: form.includesSubscriber ?? false,
                extensionVersion: isFirebase ? form.extensionVersion ?? EndpointFormat.newestExtension : nil,
                ordering: form.ordering ?? .none, retrySchedule: form.ownSchedule, headers: given.headers,
                format: form.format.flatMap(EndpointFormat.init(name:)) ?? .revenuecat,
                isAsymmetric: form.isAsymmetric ?? false, secret: given.secret, sealer: keys(), now: clock.now(),
                on: connection)
        } catch let missing as SealingKeyRegister.Missing {
            return .refused("The worker cannot seal a secret: \(missing).")
        }
        let job = try form.since.flatMap { since in
            let replay = WebhookReplay(endpoint: added.id, mode: .missing, since: since, until: nil, types: [])
            return try JobTable.make(
                replay.request(since: Timestamp.text(since), until: nil, rate: nil, madeBy: change.user),
                on: connection)
        }
        var outcome: [JSON.Member] = [
            JSON.Member(name: "endpoint", value: .string(added.id)),
            JSON.Member(name: "public_key", value: .text(added.publicKey.map(WebhookPublicKey.text))),
            JSON.Member(name: "back_fill", value: .integer(job?.id)),
        ]
        // The operator has the one that they gave.
        if given.secret == nil {
            guard
                let sealed = try? AnswerKey.seal(
                    Array(added.secret.text.utf8), to: key, context: change.sealingContext)
            else { throw NoAnswerKey() }
            outcome.append(JSON.Member(name: Change.sealed, value: .string(Hex.encode(sealed))))
        }
        return .done(.object(outcome))
    }

    func changeEndpoint(
        _ change: Change, _ parameters: JSON, on connection: PostgresConnection
    ) throws -> ChangeEnding {
        guard let former = try EndpointTable.list(id: change.target, on: connection).first else {
            return .refused("There is no endpoint \(change.target).")
        }
        let wanted: Wanted
        switch try wish(change, parameters, of: former, on: connection) {
        case .success(let wish): wanted = wish
        case .failure(let refusal): return .refused(refusal.sentence)
        }
        var edit = wanted.form.edit(wanted.given)
        if wanted.form.url != nil { edit.url = wanted.url }
        // What was judged was judged for this one.
        edit.formerURL = former.url
        // Once more with the row locked: the host may have set an authorization since.
        edit.keepsNoSecrets = edit.url.map { !WebhookAddress.haveOneOrigin($0, former.url) } ?? false
        do {
            switch try EndpointUpdate.run(
                edit, of: former.id, sealer: keys(), now: clock.now(), on: connection)
            {
            case .changed: return .done(.object(["endpoint": .string(former.id)]))
            case .notFound: return .refused("There is no endpoint \(change.target).")
            case .isElsewhere: return .refused("The endpoint was changed at the same time; ask again.")
            case .headersUnreadable:
                return .refused(
                    "The present headers cannot be opened with the keys of the worker: set each again, or remove it"
                        + " (\(former.headerNames.joined(separator: ", "))).")
            case .tooManyHeaders:
                return .refused("An endpoint can have at most \(CustomHeader.limit) headers of its own.")
            }
        } catch let missing as SealingKeyRegister.Missing {
            return .refused("The worker cannot seal a secret: \(missing).")
        }
    }

    /// Its deliveries are given up by the workers' lanes, as after the command.
    func removeEndpoint(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        guard change.target != OperationsEndpoint.id else { return .refused(OperationsEndpoint.irremovable) }
        guard try EndpointTable.remove(change.target, now: clock.now(), on: connection) else {
            return .refused("There is no endpoint \(change.target).")
        }
        return .done(.object(["endpoint": .string(change.target), "state": .string("removed")]))
    }

    func testEndpoint(_ change: Change, on connection: PostgresConnection) throws -> ChangeEnding {
        guard let endpoint = try EndpointTable.list(id: change.target, on: connection).first else {
            return .refused("There is no endpoint \(change.target).")
        }
        if let objection = TestEventMaker.objection(to: endpoint) { return .refused(objection) }
        let now = clock.now()
        let event = TestEventMaker.event(for: endpoint, firstApp: endpoints.apps.first, now: now)
        try TestEventMaker.insert(event.new, for: endpoint, now: now, on: connection)
        return .done(.object(["endpoint": .string(endpoint.id), "event": .string(event.id)]))
    }

    // MARK: - What is asked for

    private struct Wanted {
        let form: EndpointForm
        let given: GivenSecrets
        /// As it will be used.
        let url: String
    }

    struct Refusal: Error {
        let sentence: String
    }

    /// What was given of secrets for the endpoint at this URL; empty where nothing was.
    func given(_ change: Change, _ parameters: JSON, url: String) -> Result<GivenSecrets, Refusal> {
        guard let sealed = parameters[SecretIntake.member]?.stringValue else { return .success(GivenSecrets()) }
        guard let opened = SecretIntake.open(sealed, with: keys(), change.kind, change.target, url: url) else {
            return .failure(
                Refusal(
                    sentence:
                        "What was given of secrets does not open for this endpoint at its URL with the keys of the worker:"
                        + " ask again."))
        }
        return .success(opened)
    }

    /// What a change asks of an endpoint, checked once more: the role that wrote it is not trusted, and the worker's configuration
    /// counts.
    ///
    /// - Parameter former: nil: a new one.
    private func wish(
        _ change: Change, _ parameters: JSON, of former: Endpoint?, on connection: PostgresConnection
    ) throws -> Result<Wanted, Refusal> {
        func refused(_ sentence: String) -> Result<Wanted, Refusal> { .failure(Refusal(sentence: sentence)) }
        let form: EndpointForm
        do {
            form = try EndpointForm(parameters)
        } catch {
            return refused(error.message)
        }
        guard let asked = form.url ?? former?.url else { return refused("url is missing.") }
        let given: GivenSecrets
        switch self.given(change, parameters, url: asked) {
        case .success(let secrets): given = secrets
        case .failure(let refusal): return .failure(refusal)
        }
        let isElsewhere =
            former.map { former in form.url.map { !WebhookAddress.haveOneOrigin($0, former.url) } ?? false } ?? false
        let flaw =
            former.map { form.flaw(ofChanging: $0, endpoints.apps, given, isElsewhere: isElsewhere) }
            ?? form.flaw(ofNewIn: endpoints.apps)
        if let flaw { return refused(flaw.message) }
        guard form.url != nil else { return .success(Wanted(form: form, given: given, url: asked)) }
        let judgement = endpoints.address.judge(asked)
        guard case .usable(let url, _) = judgement else {
            return refused(judgement.sentence ?? "The URL cannot be used.")
        }
        return .success(Wanted(form: form, given: given, url: url))
    }
}

extension EndpointForm {
    /// The schedule of a new endpoint; nil: that of the configuration.
    fileprivate var ownSchedule: RetrySchedule? {
        if case .set(let schedule) = retrySchedule { schedule } else { nil }
    }
}
