import Database
import HTTP

/// What is written down of attempts.
package struct AttemptLog: Sendable {
    /// The worker that makes them; nil where it is not needed.
    let sender: AttemptSender?
    private let keepsResponses: Bool

    /// - Parameter keepsResponses: whether anything of what consumers answer is kept beside the status.
    package init(sender: AttemptSender? = nil, keepsResponses: Bool = true) {
        self.sender = sender
        self.keepsResponses = keepsResponses
    }

    /// The head of a response is kept where it was not what is hoped for.
    ///
    /// - Parameter detail: why it is no delivery, for people.
    func record(_ result: AttemptResult, detail: String?) -> DeliveryTable.AttemptRecord {
        let outcome = AttemptOutcome(result.outcome)
        let seen = Seen(result.outcome)
        var record = DeliveryTable.AttemptRecord(
            number: result.delivery.attempts + 1, started: result.started, milliseconds: seen.milliseconds,
            outcome: outcome.code, detail: detail, response: keepsResponses ? seen.body : [])
        record.status = seen.status
        record.timings = DeliveryTable.AttemptRecord.Timings(
            lookup: seen.trace.timings.lookup, connect: seen.trace.timings.connect,
            handshake: seen.trace.timings.handshake, firstByte: seen.trace.timings.firstByte)
        record.peer = seen.trace.peer.map { "\($0)" }
        record.reused = seen.trace.reusedConnection
        record.version = seen.trace.version
        guard keepsResponses else { return record }
        record.truncated = seen.truncated
        if outcome != .delivered { record.head = Array(seen.trace.head.text.utf8) }
        return record
    }

    /// What responses and failures have in common.
    private struct Seen {
        let status: Int?
        let milliseconds: Int64
        let body: [UInt8]
        let truncated: Bool
        let trace: TransferTrace

        init(_ outcome: TransferOutcome) {
            switch outcome {
            case .response(let response):
                (status, milliseconds, body) = (response.status, response.milliseconds, response.body)
                (truncated, trace) = (response.truncated, response.trace)
            case .failure(let failure):
                (status, milliseconds, body) = (failure.status, failure.milliseconds, failure.body)
                (truncated, trace) = (false, failure.trace)
            }
        }
    }
}
