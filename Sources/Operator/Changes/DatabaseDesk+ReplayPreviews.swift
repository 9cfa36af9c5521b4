import Base
import Database
import Duties

/// Previews of replays.
extension DatabaseDesk {
    /// The counts of `entitled replay webhooks --dry-run`, as far as they can be taken within the time of a preview.
    func replaying(_ parameters: JSON) throws -> ChangeEffect {
        guard let replay = WebhookReplay(json: parameters) else {
            throw DeskError.badRequest("The replay cannot be read.")
        }
        guard let endpoint = try EndpointTable.list(id: replay.endpoint, on: connection).first else {
            throw DeskError.notFound("There is no endpoint \(replay.endpoint).")
        }
        var effect = ChangeEffect()
        effect.rows = try counted(replay, within: DatabaseDesk.patience)
        effect.refusal = replay.objection(to: endpoint).map { $0.prefix(1).uppercased() + $0.dropFirst() + "." }
        return effect
    }

    /// Nil: there is no such endpoint.
    func counted(_ replay: WebhookReplay, within patience: Duration) throws -> BulkPreview? {
        let deadline = ContinuousClock.now + patience
        guard var count = try WebhookReplayCount(replay, on: connection) else { return nil }
        repeat { try count.step(on: connection) } while !count.isDone && .now < deadline
        var rows = BulkPreview()
        (rows.matched, rows.wouldQueue) = (count.counts.matched, count.counts.queued)
        rows.skipped = [.open: count.waiting, .notKept: count.counts.skipped].filter { $0.value > 0 }
        rows.byEndpoint = count.counts.queued > 0 ? [replay.endpoint: count.counts.queued] : [:]
        rows.isComplete = count.isDone
        rows.samples = count.samples.map { sample in
            .object([
                "id": .string(sample.id), "type": .string(sample.type), "endpoint": .string(replay.endpoint),
                "created_at": .date(sample.created),
            ])
        }
        return rows
    }

    /// What Apple has of that time only Apple knows: a worker asks it, and may be told to count only.
    func rereading(_ parameters: JSON) throws -> ChangeEffect {
        guard let replay = HistoryReplay(json: parameters) else {
            throw DeskError.badRequest("The replay cannot be read.")
        }
        let place = replay.question.place
        let covered = try HistoryCoverage.read(on: connection)[place]?.covered
        let oldest = HistoryScan.oldest(in: place.environment, now: now)
        func state(_ scanned: Int64?) -> JSON {
            .object([
                // Apple does not keep what is older; null: all of it.
                "known_from": .date(replay.from < oldest ? oldest : nil),
                "app": .string(place.app), "environment": .string(place.environment.rawValue),
                "from": .date(replay.from), "until": .date(replay.until), "scanned_to": .date(scanned),
                "types": .strings(replay.question.types), "only_failures": .bool(replay.question.onlyFailures),
                "send_events": .bool(replay.sendsEvents), "only_counted": .bool(replay.isDry),
            ])
        }
        var effect = ChangeEffect()
        effect.before = .object(["scanned_to": .date(covered)])
        effect.after = state(covered)
        return effect
    }
}
