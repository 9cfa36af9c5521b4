import Base
import Crypto
import Database

/// A change, and what has come of it.
package struct ChangeAnswer: DeskAnswer {
    package let change: Change
    /// A secret that the change made: for the one who asked, once.
    package private(set) var secret: String?

    package init(_ change: Change) {
        self.change = change
    }

    /// With the secret that it has for this key.
    package init(_ change: Change, opening key: AnswerKey?) {
        self.init(change)
        secret = key.flatMap { key in
            document?[Change.sealed]?.stringValue.flatMap(Hex.decode).flatMap {
                key.open($0, context: change.sealingContext)
            }
        }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// As a viewer may see it.
    init(_ change: Change, for viewer: Viewer) {
        self.init(viewer.may(.customers) ? change : change.withoutCustomer())
    }

    private var document: JSON? { change.outcome.flatMap { try? JSON(parsing: Array($0.utf8)) } }

    /// What was done; nil: nothing, or not yet.
    package var outcome: JSON? {
        guard let document, let members = document.members, document[Change.sealed] != nil || secret != nil else {
            return document
        }
        return .object(
            members.filter { $0.name != Change.sealed }
                + (secret.map { [JSON.Member(name: "secret", value: .string($0))] } ?? []))
    }

    /// As it was asked for.
    package var parameters: JSON { (try? JSON(parsing: Array(change.parameters.utf8))) ?? .null }

    package var json: JSON {
        .object([
            "job": .int(change.id), "kind": .string(change.kind.rawValue), "target": .string(change.target),
            "reason": .string(change.reason), "state": .string(change.state.rawValue), "outcome": outcome ?? .null,
            "error": .text(change.error),
        ])
    }
}

/// A job; of a change also what it is about.
package struct JobAnswer: DeskAnswer {
    package let job: Job
    /// Nil: the job is no change.
    package let change: ChangeAnswer?
    /// Of a change of many rows: how the deliveries stand that it sent again, or gave up.
    package let deliveries: [DeliveryState: Int64]?

    /// The states of which there may be more deliveries than were counted.
    package var cappedDeliveries: [DeliveryState] {
        DeliveryState.allCases.filter { CappedCount(deliveries?[$0] ?? 0).isCapped }
    }

    package init(job: Job, change: ChangeAnswer?, deliveries: [DeliveryState: Int64]? = nil) {
        self.job = job
        self.change = change
        self.deliveries = deliveries
    }

    /// Of a change of many rows: why rows were left as they are.
    package var skipped: [BulkSkip: Int64] {
        guard let kind = change?.change.kind, kind.isBulk else { return [:] }
        // A replay leaves out nothing else.
        if kind == .replayWebhooks { return job.counts.skipped > 0 ? [.notKept: job.counts.skipped] : [:] }
        return kind.isReplay ? [:] : BulkDone.skipped(job.cursor.first ?? "")
    }

    package var json: JSON {
        guard let change else { return job.json }
        return .object(
            (job.json.members ?? []) + [
                JSON.Member(name: "target", value: .string(change.change.target)),
                JSON.Member(name: "reason", value: .string(change.change.reason)),
                JSON.Member(name: "outcome", value: change.outcome ?? .null),
            ] + bulk)
    }
}

extension JobAnswer {
    /// What a change of many rows has more.
    private var bulk: [JSON.Member] {
        guard let kind = change?.change.kind, kind.isBulk, !kind.readsHistory else { return [] }
        var skipped = BulkDone()
        skipped.skipped = self.skipped
        let states = deliveries.map { deliveries in
            [
                JSON.Member(
                    name: "deliveries",
                    value: .object(
                        DeliveryState.allCases.map { state in
                            JSON.Member(name: state.name, value: .int(deliveries[state] ?? 0))
                        })),
                JSON.Member(name: "capped_deliveries", value: .strings(cappedDeliveries.map(\.name))),
            ]
        }
        return (states ?? []) + [JSON.Member(name: "skipped_by_reason", value: skipped.skippedJSON)]
    }
}

package typealias AuditRow = AuditTable.Entry

extension AuditTable.Entry: DeskAnswer {
    package var json: JSON {
        .object([
            "id": .int(id), "at": .date(at), "actor": .string(actor), "credential": .text(credential),
            "address": .text(address), "user_agent": .text(userAgent), "kind": .string(kind),
            "target": .string(target), "reason": .text(reason), "outcome": .string(outcome),
            "message": .text(message), "job": .integer(job),
        ])
    }
}
