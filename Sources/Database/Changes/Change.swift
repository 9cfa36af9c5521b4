import Base
import Postgres

/// A change that an operator asked for, with what came of it: a job of one step.
package struct Change: Sendable {
    /// The number of the job.
    package let id: Int64
    package let kind: ChangeKind
    /// The id of what it is about: an app user id, an original transaction id, an event, a delivery, a notification's UUID, an
    /// endpoint, a list, a job.
    package private(set) var target: String
    /// JSON, as it was asked for; not parsed, because the role that writes it is not trusted.
    package let parameters: String
    package private(set) var reason: String
    package let user: String
    /// When it was asked for, by the database's clock, in ms since 1970.
    package let asked: Int64
    /// Nil where the text is no credential's.
    package let credential: ChangeOrigin.Credential?
    package let state: Job.State
    /// JSON of what was done; nil: nothing was, or not yet.
    package private(set) var outcome: String?
    /// Why it was refused, or failed.
    package private(set) var error: String?

    /// The member of an outcome that has a secret for the process that asked, in hex digits of what `AnswerKey` seals.
    package static let sealed = "sealed"

    /// What a secret is tied to when it is sealed.
    package var sealingContext: String { Change.sealingContext(id) }

    package static func sealingContext(_ job: Int64) -> String { "entitled change \(job)" }

    static let columns = """
        id, kind, target, parameters, reason, made_by, created_ms, credential, state, outcome, error
        """

    init(_ row: PostgresRow) throws {
        id = try row.int("id")
        kind = try row.value("kind")
        target = try row.text("target")
        parameters = try row.text("parameters")
        reason = try row.text("reason")
        user = try row.text("made_by")
        asked = try row.int("created_ms")
        credential = ChangeOrigin.Credential(text: try row.optionalText("credential"))
        state = try row.value("state")
        outcome = try row.optionalText("outcome")
        error = try row.optionalText("error")
    }

    /// The same for readers who see no customers: as in the audit it does not say which one it is about. Numbers of rows stay.
    package func withoutCustomer() -> Change {
        guard [.customer, .purchase].contains(kind.targetClass) else { return self }
        var change = self
        (change.target, change.reason, change.error) = ("", "", nil)
        if !kind.isBulk { change.outcome = nil }
        return change
    }
}
