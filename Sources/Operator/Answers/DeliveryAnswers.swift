import Base
import Database

package typealias DeliveryRow = DeliverySummary

extension DeliverySummary: DeskAnswer {
    /// When it is tried next; nil where that is not known or never.
    package var nextAttempt: Int64? { state == .pending && blockedSince == nil ? next : nil }

    /// The members of its JSON document.
    package var members: [JSON.Member] { json.members ?? [] }

    package var json: JSON {
        .object([
            "id": .string(id.text), "event_id": .string(event), "event_type": .string(eventType),
            "endpoint_id": .string(endpoint), "state": .string(state.name), "attempts": .int(Int64(attempts)),
            "last_status": .integer(lastStatus.map { Int64($0) }), "reason": .text(reason),
            "next_attempt_at": .date(nextAttempt), "created_at": .date(created), "blocked_since": .date(blockedSince),
        ])
    }
}

extension AttemptSummary {
    /// All that is known. Times are in milliseconds; null is a phase that did not happen, or did not end.
    package var json: JSON {
        .object([
            "number": .int(Int64(number)), "started_at": .date(started), "milliseconds": .int(milliseconds),
            "status": .integer(status.map { Int64($0) }), "outcome": .string(outcome), "detail": .text(detail),
            "timings": .object([
                "dns": .integer(timings.lookup), "connect": .integer(timings.connect),
                "tls": .integer(timings.handshake), "first_byte": .integer(timings.firstByte),
                "total": .int(milliseconds),
            ]),
            "peer": .text(peer), "reused_connection": .bool(reused), "http_version": .text(version),
            "worker": .text(worker), "host": .text(host),
            "head": .text(head.isEmpty ? nil : String(decoding: head, as: UTF8.self)),
            "response": .string(String(decoding: response, as: UTF8.self)), "truncated": .bool(truncated),
        ])
    }
}

/// An attempt, as far as the viewer sees it.
package struct AttemptRow: DeskAnswer {
    package let attempt: AttemptSummary
    /// Whether head and body of the consumer's answer are shown.
    package let isAnswerShown: Bool

    package var json: JSON {
        let members = (attempt.json.members ?? []).map { member in
            !isAnswerShown && ["head", "response"].contains(member.name)
                ? JSON.Member(name: member.name, value: .null) : member
        }
        return .object(members + [JSON.Member(name: "response_hidden", value: .bool(!isAnswerShown))])
    }
}

/// A delivery with its attempts and its body.
package struct DeliveryAnswer: DeskAnswer {
    package let delivery: DeliverySummary
    package let attempts: [AttemptRow]
    /// As it is sent, but for what the viewer does not see; empty: not kept any more.
    package let body: [UInt8]
    /// Which event of its purchase it is.
    package let sequence: Int64?
    /// The delivery that it waits for.
    package let blockedBy: DeliveryID?
    /// The event that its own repeats under a new id.
    package let repeats: String?

    package var json: JSON {
        .object(
            delivery.members + [
                JSON.Member(name: "repeats_event", value: .text(repeats)),
                JSON.Member(name: "sequence", value: .integer(sequence)),
                JSON.Member(name: "blocked_by", value: .text(blockedBy?.text)),
                JSON.Member(name: "attempt_history", value: .array(attempts.map(\.json))),
                JSON.Member(name: "body", value: body.isEmpty ? .null : .raw(body)),
            ])
    }
}
