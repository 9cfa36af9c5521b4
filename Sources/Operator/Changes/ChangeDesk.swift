import Base
import Database
import Postgres

/// Takes changes that operators ask for, from the API and from the console: checks the role, finds what is to be changed, and writes
/// the request down.
package struct ChangeDesk: Sendable {
    private let settings: DeskSettings
    private let refusals = RefusalNotes()

    package init(_ settings: DeskSettings) {
        self.settings = settings
    }

    /// A change that was asked for.
    package struct Asked: Sendable {
        /// The number of the job.
        package let job: Int64
        package let kind: ChangeKind
        /// Whether the same was asked for before under this key.
        package let isRepeated: Bool
    }

    private static let longestKey = 255

    /// - Parameters:
    ///   - subject: values of the route's path, such as `id`.
    ///   - body: JSON, as the API takes it.
    ///   - now: ms since 1970.
    /// - Throws: `DeskError`.
    package func ask(
        _ kind: ChangeKind, of subject: [String: String], body: [UInt8], by viewer: Viewer, from origin: ChangeOrigin,
        idempotencyKey: String, now: Int64, on connection: PostgresConnection
    ) throws -> Asked {
        // Before the body is looked at: a role is told nothing of what it may not do.
        guard kind.roles.contains(viewer.role) else {
            let error = DeskError.forbidden(viewer.role, kind)
            try refusals.note(
                kind, subject["id"] ?? subject["uuid"] ?? "", by: origin, error, now: now, on: connection)
            throw error
        }
        guard let route = ChangeRoute.all.first(where: { $0.kind == kind }) else {
            throw DeskError.notFound("There is no change \(kind.rawValue).")
        }
        guard !idempotencyKey.isEmpty, idempotencyKey.utf8.count <= ChangeDesk.longestKey,
            idempotencyKey.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw DeskError.badRequest(
                "A change needs one Idempotency-Key of 1 to \(ChangeDesk.longestKey) visible characters, a new one for"
                    + " each change.", field: "Idempotency-Key")
        }
        var body = try ChangeBody(body)
        let fingerprint = body.fingerprint(kind, of: subject)
        // Before it is looked at whether it can be done: by now it may have been.
        let known = try ChangeTable.answer(
            toRepetitionBy: origin.user, under: idempotencyKey, fingerprint: fingerprint, on: connection)
        // A mismatch is judged once more with what is found: a former program spelled requests otherwise.
        if let known, known != .mismatch {
            return try asked(known, kind)
        }
        let reason: String
        let found: ChangeRoute.Subject
        do {
            reason = try body.reason()
            found = try DatabaseDesk.ask(settings, for: viewer, now: now, on: connection) { desk in
                try route.find(desk, PathValues(values: subject), &body)
            }
            try body.finish()
        } catch let error as DeskError {
            // The request under the key was another one, whatever is wrong with this one.
            if let known { return try asked(known, kind) }
            throw error
        }
        let answer = try ChangeTable.ask(
            ChangeTable.Request(
                kind, found.target, parameters: found.parameters, reason: reason, by: origin,
                idempotencyKey: idempotencyKey, fingerprint: fingerprint), on: connection)
        return try asked(answer, kind)
    }

    private func asked(_ answer: ChangeTable.Answer, _ kind: ChangeKind) throws(DeskError) -> Asked {
        switch answer {
        case .asked(let job): return Asked(job: job, kind: kind, isRepeated: false)
        case .repeated(let job): return Asked(job: job, kind: kind, isRepeated: true)
        case .mismatch:
            throw DeskError(
                409, "idempotency_mismatch",
                "Another change was asked for with this Idempotency-Key and it is under way or ended within the last"
                    + " day.",
                field: "Idempotency-Key")
        }
    }

    /// What became of a change, for who asked for it and for operators of the role `operator`.
    ///
    /// - Throws: `DeskError`, 404.
    package func change(
        _ job: Int64, for viewer: Viewer, on connection: PostgresConnection
    ) throws -> ChangeAnswer {
        guard let change = try ChangeTable.find(job, on: connection),
            try viewer.role == .operator || viewer.hasAsked(for: change, on: connection)
        else { throw DeskError.noOwnChange(job) }
        return ChangeAnswer(change)
    }
}

extension Viewer {
    /// Whether the viewer asked for a change, and not an operator who had the name before.
    func hasAsked(for change: Change, on connection: PostgresConnection) throws -> Bool {
        try change.user == user && ConsoleUserTable.isSame(user, as: change.asked, on: connection)
    }
}

extension DeskError {
    /// Another operator's change is not told from one that is not there.
    static func noOwnChange(_ number: Int64) -> DeskError { .notFound("There is no change \(number) of yours.") }
}
