import Base

/// One answer of a play as a line.
enum PlayLine {
    static func text(_ attempt: Playback.Attempt) -> String {
        let name = attempt.name + String(repeating: " ", count: max(0, 46 - attempt.name.count))
        let again = attempt.retryAfter.map { ", again in \($0.text)" } ?? ""
        let number = attempt.number > 1 ? "  attempt \(attempt.number)" : ""
        let milliseconds = PlayReport.number(attempt.latency.seconds * 1000)
        return "\(name) \(attempt.uuid)  \(attempt.answer)  \(milliseconds) ms\(number)\(again)"
    }

    static func json(_ attempt: Playback.Attempt) -> String {
        JSON.object([
            "type": .string(attempt.name), "uuid": .string(attempt.uuid), "signed_ms": .int(attempt.signedDate),
            "attempt": .int(Int64(attempt.number)),
            "answer": .string(attempt.answer), "accepted": .bool(attempt.isAccepted),
            "ms": .double(PlayReport.rounded(attempt.latency.seconds * 1000)),
        ]).text
    }
}
