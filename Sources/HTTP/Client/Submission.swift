/// A request that was handed in, checked as far as that needs no name lookup.
struct Submission: Sendable {
    let request: OutgoingRequest
    let url: Result<OutgoingURL, TransferFailure>
    let completion: @Sendable (TransferOutcome) -> Void

    init(_ request: OutgoingRequest, completion: @escaping @Sendable (TransferOutcome) -> Void) {
        self.request = request
        self.completion = completion
        if let refusal = request.refusal {
            url = .failure(TransferFailure(kind: .invalidRequest, message: refusal, milliseconds: 0))
            return
        }
        do {
            url = .success(try OutgoingURL(parsing: request.url))
        } catch {
            url = .failure(TransferFailure(kind: .invalidURL, message: "\(error)", milliseconds: 0))
        }
    }

    /// The outcome of what a stopping client never began.
    static let notBegun = TransferOutcome.failure(
        TransferFailure(kind: .interrupted, message: "not started because the client stops", milliseconds: 0))
}
