import Base
import Database

/// A change, and what has come of it.
package struct ChangeAnswer: DeskAnswer {
    package let change: Change

    package init(_ change: Change) {
        self.change = change
    }

    /// As a viewer may see it.
    init(_ change: Change, for viewer: Viewer) {
        self.init(viewer.may(.customers) ? change : change.withoutCustomer())
    }

    /// What was done; nil: nothing, or not yet.
    package var outcome: JSON? { change.outcome.flatMap { try? JSON(parsing: Array($0.utf8)) } }

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
        deliveries == nil ? [:] : BulkDone.skipped(job.cursor.first ?? "")
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
        guard let deliveries else { return [] }
        let states = DeliveryState.allCases.map { state in
            JSON.Member(name: state.name, value: .int(deliveries[state] ?? 0))
        }
        var skipped = BulkDone()
        skipped.skipped = self.skipped
        return [
            JSON.Member(name: "deliveries", value: .object(states)),
            JSON.Member(name: "capped_deliveries", value: .strings(cappedDeliveries.map(\.name))),
            JSON.Member(name: "skipped_by_reason", value: skipped.skippedJSON),
        ]
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
