import Base
import Customers
import Database
import Subscriptions

/// Previews of changes of notifications, endpoints and jobs.
extension DatabaseDesk {
    func reprocessing(_ uuid: String, _ parameters: JSON) throws -> ChangeEffect {
        let found = try NotificationQuery.find(
            uuid: uuid, app: parameters["app"]?.stringValue,
            environment: parameters["environment"]?.stringValue.flatMap(StoreEnvironment.init(rawValue:)),
            on: connection)
        var effect = ChangeEffect()
        guard let summary = found.whole.first?.summary else {
            effect.refusal = "The notification is not kept any more."
            return effect
        }
        effect.before = .object([
            "state": .string(summary.state.rawValue), "reason": .text(summary.hold?.reason),
        ])
        effect.after = .object(["state": .string(NotificationState.pending.rawValue), "reason": .null])
        return effect
    }

    func steering(_ kind: ChangeKind, _ target: String, _ parameters: JSON) throws -> ChangeEffect {
        guard let endpoint = try EndpointTable.list(id: target, on: connection).first else {
            throw DeskError.notFound("There is no endpoint \(target).")
        }
        let backlog = try OverviewQuery.backlog(of: target, upTo: CappedCount.cap, on: connection)
        func count(_ code: DeliveryCode) -> JSON { CappedCount(backlog[code] ?? 0).json }
        func state(_ reason: String?, pausedUntil: Int64) -> JSON {
            .object([
                "disabled_reason": .text(reason), "paused_until": .date(pausedUntil > now ? pausedUntil : nil),
                "pending": count(.pending), "held": count(.held),
            ])
        }
        var effect = ChangeEffect()
        effect.before = state(endpoint.disabledReason, pausedUntil: endpoint.pausedUntil)
        let until = parameters["until"]?.intValue
        effect.after =
            switch kind {
            case .endpointEnable: state(nil, pausedUntil: 0)
            case .endpointDisable:
                state(endpoint.disabledReason ?? EndpointDisabling.byOperator.text, pausedUntil: endpoint.pausedUntil)
            default: state(endpoint.disabledReason, pausedUntil: until ?? 0)
            }
        return effect
    }

    func rotating(_ target: String, _ parameters: JSON) throws -> ChangeEffect {
        let valid = try EndpointSecrets.list(of: target, now: now, on: connection).secrets
        let end = now + (parameters["overlap"]?.intValue ?? 0)
        // Those that end by then keep their end; the others end then.
        let former = end > now ? valid.map { min($0.expires ?? end, end) } : []
        var effect = ChangeEffect()
        effect.before = .object([
            "valid_secrets": .int(Int64(valid.count)),
            "former_secrets_end_at": .date(valid.compactMap(\.expires).max()),
        ])
        effect.after = .object([
            "valid_secrets": .int(Int64(former.count) + 1), "former_secrets_end_at": .date(former.max()),
            "secrets": parameters[SecretIntake.names],
        ])
        if former.count >= EndpointSecrets.limit {
            effect.refusal =
                "\(EndpointSecrets.limit) secrets of the endpoint are valid already; a shorter overlap ends the former ones"
                + " earlier."
            effect.after = effect.before
        }
        return effect
    }

    func cancelling(_ target: String) throws -> ChangeEffect {
        guard let job = try Int64(target).flatMap({ try JobTable.find($0, on: connection) }) else {
            throw DeskError.notFound("There is no job \(target).")
        }
        func state(_ state: Job.State) -> JSON {
            .object([
                "state": .string(state.rawValue), "matched": .int(job.counts.matched),
                "queued": .int(job.counts.queued), "skipped": .int(job.counts.skipped),
            ])
        }
        var effect = ChangeEffect()
        (effect.before, effect.after) = (state(job.state), state(.cancelled))
        if let objection = try objection(toCancelling: job) {
            effect.after = effect.before
            effect.refusal = objection
        }
        return effect
    }

    /// As the worker decides (`ChangeWork`).
    private func objection(toCancelling job: Job) throws -> String? {
        let over = "The job has ended already: \(job.state.rawValue)."
        guard let kind = ChangeKind(rawValue: job.kind) else {
            guard viewer.role == .operator else { return "Only the role operator cancels this job." }
            // What failed would go on when it is asked for again.
            return job.state == .running || job.state == .failed ? nil : over
        }
        guard kind.isBulk else { return "A change of one step cannot be cancelled: it ends by itself." }
        guard
            try viewer.role == .operator
                || (job.madeBy == viewer.user
                    && ConsoleUserTable.isSame(viewer.user, as: job.created, on: connection))
        else { return "The job is another operator's." }
        return job.state == .running ? nil : over
    }
}
