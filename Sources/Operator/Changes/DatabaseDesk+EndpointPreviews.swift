import Base
import Database
import HTTP
import Subscriptions

/// Previews of endpoints that are added, changed, removed and tested.
extension DatabaseDesk {
    private func form(_ parameters: JSON) throws -> EndpointForm {
        do {
            return try EndpointForm(parameters)
        } catch {
            throw DeskError.badRequest(error.message, field: error.field)
        }
    }

    /// Why a worker would not take the URL; nil: it would. No name is looked up.
    private func refusal(of url: String?) -> String? { url.flatMap { settings.webhookAddress.judge($0).sentence } }

    private func schedule(_ schedule: RetrySchedule?) -> JSON {
        .string(schedule?.text ?? "\(settings.retrySchedule.text) (default)")
    }

    func adding(_ parameters: JSON) throws -> ChangeEffect {
        let form = try form(parameters)
        var effect = ChangeEffect()
        effect.refusal = refusal(of: form.url)
        guard effect.refusal == nil else { return effect }
        let own: RetrySchedule? = if case .set(let schedule) = form.retrySchedule { schedule } else { nil }
        effect.after = .object([
            "url": .text(form.url.map { Endpoint.publicURL(of: $0) }), "format": .string(form.format ?? "revenuecat"),
            "environments": .strings((form.environments ?? []).map(\.rawValue)), "events": .strings(form.events ?? []),
            "excepted_events": .strings(form.exceptedEvents ?? []), "apps": .strings(form.apps ?? []),
            "includes_subscriber": .bool(form.includesSubscriber ?? false),
            "ordering": .string((form.ordering ?? .none).rawValue), "retry_schedule": schedule(own),
            "asymmetric": .bool(form.isAsymmetric ?? false), "secrets": parameters[SecretIntake.names] ?? .strings([]),
            "events_since": .date(form.since),
        ])
        return effect
    }

    /// The settings that change, as they are and as they will be.
    func changing(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let former = try endpoint(target).endpoint
        let (form, given) = (
            try form(parameters), parameters[SecretIntake.names]?.arrayValue?.compactMap(\.stringValue)
        )
        var (before, after): ([JSON.Member], [JSON.Member]) = ([], [])
        func change(_ name: String, _ old: JSON, _ new: JSON?) {
            guard let new else { return }
            before.append(JSON.Member(name: name, value: old))
            after.append(JSON.Member(name: name, value: new))
        }
        change("url", .string(former.publicURL), form.url.map { .string(Endpoint.publicURL(of: $0)) })
        change(
            "environments", .strings(former.environments.map(\.rawValue)),
            form.environments.map { .strings($0.map(\.rawValue)) })
        let edit = form.edit(GivenSecrets())
        change("events", .strings(former.events), edit.events.map { .strings($0) })
        change("excepted_events", .strings(former.exceptedEvents), edit.exceptedEvents.map { .strings($0) })
        change("apps", .strings(former.apps), form.apps.map { .strings($0) })
        change("includes_subscriber", .bool(former.includesSubscriber), form.includesSubscriber.map { .bool($0) })
        change("extension_version", .text(former.extensionVersion), form.extensionVersion.map { .string($0) })
        change("ordering", .string(former.ordering.rawValue), form.ordering.map { .string($0.rawValue) })
        switch form.retrySchedule {
        case .keep: break
        case .clear: change("retry_schedule", schedule(former.retrySchedule), schedule(nil))
        case .set(let new): change("retry_schedule", schedule(former.retrySchedule), schedule(new))
        }
        if let isAsymmetric = form.isAsymmetric {
            let pairs = try EndpointSecrets.list(of: target, now: now, on: connection).keyPairs
            change("asymmetric", .bool(!pairs.isEmpty), .bool(isAsymmetric))
        }
        let isGiven = given?.contains("authorization") ?? false
        if isGiven || form.withoutAuthorization {
            change(
                "authorization", .string(former.hasAuthorization ? "set" : "none"),
                .string(isGiven ? "set anew" : "none"))
        }
        let headers = (given ?? []).compactMap { $0.hasPrefix("header ") ? String($0.dropFirst(7)) : nil }
        if !headers.isEmpty || !form.withoutHeaders.isEmpty {
            let gone = Set((form.withoutHeaders + headers).map { $0.lowercased() })
            change(
                "headers", .strings(former.headerNames),
                .strings(
                    former.headerNames.filter { !gone.contains($0.lowercased()) } + headers.map { "\($0): set anew" }))
        }
        var effect = ChangeEffect()
        effect.before = .object(before)
        effect.refusal = refusal(of: form.url)
        effect.after = effect.refusal == nil ? .object(after) : effect.before
        return effect
    }

    /// What is given up with it.
    func removing(_ target: String) throws -> ChangeEffect {
        let answer = try endpoint(target)
        func state(_ word: String, _ pending: JSON, _ held: JSON, _ blocked: JSON, _ more: JSON) -> JSON {
            .object([
                "url": .string(answer.endpoint.publicURL), "state": .string(word), "pending": pending, "held": held,
                "blocked": blocked, "given_up_by_this": more,
            ])
        }
        let none = CappedCount(0).json
        let counts = [answer.pending, answer.held, answer.blocked]
        let sum = counts.reduce(0) { $0 + $1.value }
        var effect = ChangeEffect()
        effect.before = state(
            answer.endpoint.isEnabled ? "enabled" : "disabled", answer.pending.json, answer.held.json,
            answer.blocked.json, none)
        effect.after = state(
            "removed", none, none, none,
            .object(["value": .int(sum), "is_capped": .bool(counts.contains(where: \.isCapped))]))
        return effect
    }

    func testing(_ target: String) throws -> ChangeEffect {
        let endpoint = try endpoint(target).endpoint
        var effect = ChangeEffect()
        effect.refusal = TestEventMaker.objection(to: endpoint)
        if effect.refusal == nil {
            let type = endpoint.isOperations ? OperationsEvent.Kind.test.rawValue : EventType.test.rawValue
            effect.webhooks = [ChangePreview.Webhooks(type: type, endpoints: [target], held: [])]
        }
        return effect
    }
}
