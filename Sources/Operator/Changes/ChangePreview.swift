import Base
import Database

/// What a change would come to: `POST …?preview=true`. Nothing is changed by it.
package struct ChangePreview: DeskAnswer {
    /// Webhooks of one type.
    package struct Webhooks: Sendable, Equatable {
        package let type: String
        /// Endpoints that get it at once.
        package let endpoints: [String]
        /// Endpoints that are disabled, and get it when they are enabled.
        package let held: [String]

        var json: JSON {
            .object(["type": .string(type), "endpoints": .strings(endpoints), "held": .strings(held)])
        }
    }

    package let kind: ChangeKind
    package let target: String
    let plan: ChangePlan
    package let effect: ChangeEffect

    /// What a change that is to be done only as it was shown names in `If-Plan`.
    package var planText: String { plan.text }

    package var json: JSON {
        .object([
            "kind": .string(kind.rawValue), "target": .string(target), "plan": .string(plan.text),
            "plan_expires_at": .date(plan.ends), "refusal": .text(effect.refusal), "before": effect.before,
            "after": effect.after, "webhooks": .array(effect.webhooks.map(\.json)), "rows": effect.rows?.json ?? .null,
        ])
    }
}

/// What becomes of what a change is about.
package struct ChangeEffect: Sendable {
    /// Why it would be refused now, as a sentence.
    package var refusal: String?
    package var before: JSON = .null
    package var after: JSON = .null
    package var webhooks: [ChangePreview.Webhooks] = []
    /// Of a change of many rows.
    package var rows: BulkPreview?
}

/// The rows of a selection as far as they were counted.
package struct BulkPreview: Sendable {
    package var matched: Int64 = 0
    package var wouldQueue: Int64 = 0
    package var skipped: [BulkSkip: Int64] = [:]
    /// Of what would be queued.
    package var byEndpoint: [String: Int64] = [:]
    package var samples: [JSON] = []
    /// Whether all were counted within the time that a preview may take.
    package var isComplete = false

    static let mostSamples = 5

    package var json: JSON {
        func counts(_ numbers: [(String, Int64)]) -> JSON {
            .object(numbers.sorted { $0.0 < $1.0 }.map { JSON.Member(name: $0.0, value: .int($0.1)) })
        }
        return .object([
            "matched": .int(matched), "would_queue": .int(wouldQueue),
            "skipped": counts(skipped.map { ($0.key.rawValue, $0.value) }),
            "by_endpoint": counts(byEndpoint.map { ($0.key, $0.value) }), "samples": .array(samples),
            "is_complete": .bool(isComplete),
        ])
    }

    mutating func add(_ skip: BulkSkip?, endpoint: String?, _ sample: @autoclosure () -> JSON) {
        matched += 1
        if let skip {
            skipped[skip, default: 0] += 1
        } else {
            wouldQueue += 1
            if let endpoint { byEndpoint[endpoint, default: 0] += 1 }
        }
        if samples.count < BulkPreview.mostSamples { samples.append(sample()) }
    }
}
