import Base

/// A notification that was sent, or should have been, as Apple's history keeps it.
struct HistoryEntry {
    /// One attempt to deliver it.
    struct Attempt: Equatable {
        /// Milliseconds since 1970.
        let date: Int64
        /// Apple's word: SUCCESS, TIMED_OUT, …
        let result: String
    }

    let letter: PlannedNotification
    /// The app transaction id of its customer; nil for none.
    let customer: String?
    /// Asked for by the test endpoint: in no history.
    let isTest: Bool
    /// Whether no attempt reaches the receiver.
    let isLost: Bool
    var attempts: [Attempt] = []

    var isDelivered: Bool { attempts.contains { $0.result == "SUCCESS" } }

    /// What a history item and a test's status have in common.
    func json(_ signer: NotificationSigner) throws -> JSON {
        .object([
            "signedPayload": .string(try letter.signedPayload(signer)),
            "sendAttempts": .array(
                attempts.map {
                    .object(["attemptDate": .int($0.date), "sendAttemptResult": .string($0.result)])
                }),
        ])
    }
}
