/// How long work may wait before `doctor` and the console name it, in ms: one judgement for both.
package enum WorkPatience {
    /// Without a minute in which an ingest process could store notifications.
    package static let ingest: Int64 = 5 * 60_000
    /// Before a notification is applied; a warning.
    package static let notification: Int64 = 60_000
    /// The same; an error.
    package static let lateNotification: Int64 = 15 * 60_000
    /// What is left of Apple's time for the answer to a consumption request; a warning.
    package static let refundAnswer: Int64 = 2 * 3_600_000
}
