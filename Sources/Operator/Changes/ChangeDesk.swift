import Base
import Crypto
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
        /// Opens a secret in the outcome; it is in this process alone. Nil: the change makes none.
        package fileprivate(set) var answerKey: AnswerKey?
    }

    private static let longestKey = 255

    /// Asks for a change of one step.
    ///
    /// - Parameters:
    ///   - subject: values of the route's path, such as `id`.
    ///   - body: JSON, as the API takes it.
    ///   - now: ms since 1970.
    /// - Throws: `DeskError`.
    package func ask(
        _ kind: ChangeKind, of subject: [String: String], body: [UInt8], by viewer: Viewer, from origin: ChangeOrigin,
        idempotencyKey: String, insisting plan: String? = nil, now: Int64, on connection: PostgresConnection
    ) throws -> Asked {
        try ask(
            try ChangeDesk.route(kind), of: subject, body: body, by: viewer, from: origin,
            idempotencyKey: idempotencyKey, insisting: plan, now: now, on: connection)
    }

    /// What a change of one step would come to; nothing is changed.
    ///
    /// - Throws: `DeskError`, as where it is asked for.
    package func preview(
        _ kind: ChangeKind, of subject: [String: String], body: [UInt8], by viewer: Viewer, from origin: ChangeOrigin,
        now: Int64, on connection: PostgresConnection
    ) throws -> ChangePreview {
        try preview(
            try ChangeDesk.route(kind), of: subject, body: body, by: viewer, from: origin, now: now, on: connection)
    }

    private static func route(_ kind: ChangeKind) throws(DeskError) -> ChangeRoute {
        guard let route = ChangeRoute.all.first(where: { $0.kind == kind }) else {
            throw .notFound("There is no change \(kind.rawValue).")
        }
        return route
    }

    /// The body, and the kind that it asks for, if the viewer may. Before the body is looked at: a role is told nothing of what it
    /// may not do.
    private func opened(
        _ route: ChangeRoute, _ body: [UInt8], _ subject: [String: String], by viewer: Viewer,
        from origin: ChangeOrigin, now: Int64, on connection: PostgresConnection
    ) throws -> (ChangeBody, ChangeKind) {
        func check(_ kind: ChangeKind, _ roles: Set<OperatorRole>) throws {
            guard !roles.contains(viewer.role) else { return }
            let error = DeskError.forbidden(viewer.role, kind)
            do {
                try refusals.note(
                    kind, subject["id"] ?? subject["uuid"] ?? "", by: origin, error, now: now, on: connection)
            } catch let fault as PostgresError where fault.isForbidden {
                // The schema is older than the kind, and notes none of it.
            }
            throw error
        }
        try check(route.kind, route.roles)
        var body = try ChangeBody(
            body, longest: route.choices.isEmpty ? ChangeBody.longest : BulkRequest.longest)
        let kind = try route.kind(of: &body)
        try check(kind, kind.roles)
        return (body, kind)
    }

    /// What a change would come to; nothing is changed.
    ///
    /// - Throws: `DeskError`, as where it is asked for.
    package func preview(
        _ route: ChangeRoute, of subject: [String: String], body: [UInt8], by viewer: Viewer,
        from origin: ChangeOrigin, now: Int64, on connection: PostgresConnection
    ) throws -> ChangePreview {
        var (body, kind) = try opened(route, body, subject, by: viewer, from: origin, now: now, on: connection)
        return try DatabaseDesk.ask(settings, for: viewer, now: now, on: connection) { desk in
            let found = try route.find(desk, PathValues(values: subject), &body)
            _ = try body.optionalText("reason")
            try body.finish()
            kind = found.kind ?? kind
            let digest = try ChangeVersions.digest(kind, found.target, found.parameters, on: connection)
            return ChangePreview(
                kind: kind, target: found.target, plan: ChangePlan(made: now, digest: digest),
                effect: try desk.effect(kind, found.target, found.parameters))
        }
    }

    /// ms by which the clock of the console that made a plan may be ahead of this one's.
    private static let clockDifference: Int64 = 30_000

    /// The plan that a change insists on.
    private static func plan(_ text: String?, now: Int64) throws(DeskError) -> ChangePlan? {
        guard let text else { return nil }
        guard let plan = ChangePlan(text: text), plan.made <= now + clockDifference else {
            throw .badRequest(
                "If-Plan is not the plan of a preview; take `plan` from the preview's answer.", field: "If-Plan")
        }
        guard now < plan.ends else {
            throw .changedMeanwhile("The plan is older than \(ChangePlan.life / 60_000) minutes.")
        }
        return plan
    }

    /// - Parameters:
    ///   - subject: values of the route's path, such as `id`.
    ///   - body: JSON, as the API takes it.
    ///   - insisting: the plan of a preview, if it is to be done only as it was shown.
    ///   - now: ms since 1970.
    /// - Throws: `DeskError`.
    package func ask(
        _ route: ChangeRoute, of subject: [String: String], body: [UInt8], by viewer: Viewer,
        from origin: ChangeOrigin, idempotencyKey: String, insisting text: String? = nil, now: Int64,
        on connection: PostgresConnection
    ) throws -> Asked {
        var (body, kind) = try opened(route, body, subject, by: viewer, from: origin, now: now, on: connection)
        guard !idempotencyKey.isEmpty, idempotencyKey.utf8.count <= ChangeDesk.longestKey,
            idempotencyKey.utf8.allSatisfy({ (0x21...0x7e).contains($0) })
        else {
            throw DeskError.badRequest(
                "A change needs one Idempotency-Key of 1 to \(ChangeDesk.longestKey) visible characters, a new one for"
                    + " each change.", field: "Idempotency-Key")
        }
        let fingerprint = body.fingerprint(kind, of: subject)
        // Before it is looked at whether it can be done: by now it may have been.
        let known = try ChangeTable.answer(
            toRepetitionBy: origin.user, under: idempotencyKey, fingerprint: fingerprint, on: connection)
        // A mismatch is judged once more with what is found: a former program spelled requests otherwise.
        if let known, known != .mismatch {
            return try asked(known, kind)
        }
        let (request, answerKey): (ChangeTable.Request, AnswerKey?)
        do {
            (request, answerKey) = try self.request(
                route, kind, subject, &body, by: viewer, from: origin, idempotencyKey, fingerprint, insisting: text,
                now: now, on: connection)
        } catch let error as DeskError {
            // The request under the key was another one, whatever is wrong with this one.
            if let known { return try asked(known, kind) }
            throw error
        }
        var new = try asked(try write(request, on: connection), request.kind)
        if !new.isRepeated { new.answerKey = answerKey }
        return new
    }

    /// What is to be written down, and the key that opens a secret in the outcome.
    private func request(
        _ route: ChangeRoute, _ asked: ChangeKind, _ subject: [String: String], _ body: inout ChangeBody,
        by viewer: Viewer, from origin: ChangeOrigin, _ idempotencyKey: String, _ fingerprint: [UInt8],
        insisting text: String?, now: Int64, on connection: PostgresConnection
    ) throws -> (ChangeTable.Request, AnswerKey?) {
        let plan = try ChangeDesk.plan(text, now: now)
        let reason = try asked.needsReason ? body.reason() : body.optionalReason() ?? asked.standardReason
        // Times count from when they were shown.
        var found = try DatabaseDesk.ask(settings, for: viewer, now: plan?.made ?? now, on: connection) { desk in
            var found = try route.find(desk, PathValues(values: subject), &body)
            guard let plan else { return found }
            let digest = try ChangeVersions.digest(
                found.kind ?? asked, found.target, found.parameters, on: connection)
            guard digest == plan.digest else { throw DeskError.changedMeanwhile(ChangeVersions.changed) }
            // A worker compares once more.
            found.parameters = found.parameters.adding(ChangeVersions.member, .string(Hex.encode(digest)))
            return found
        }
        try body.finish()
        let kind = found.kind ?? asked
        var answerKey: AnswerKey?
        if kind == .purchaseExtend {
            // Apple's name for it, beside which its own entry of it stands.
            found.parameters = found.parameters.adding(
                ChangeVersions.requestID, .string(UUIDText.upper(SecureRandom.bytes(16)).lowercased()))
        }
        try seal(&found, kind, on: connection)
        // Without it a worker of an earlier version, which would make a secret of its own, refuses a rotation.
        let isGiven = kind == .endpointRotateSecret && found.parameters[SecretIntake.member] != nil
        if kind.makesSecret, !isGiven {
            let key = try AnswerKey()
            found.parameters = found.parameters.adding(ChangeVersions.answerKey, .string(Hex.encode(key.publicKey)))
            answerKey = key
        }
        let request = ChangeTable.Request(
            kind, found.target, parameters: found.parameters, reason: reason, by: origin,
            idempotencyKey: idempotencyKey, fingerprint: fingerprint)
        guard request.parameters.text.unicodeScalars.count <= kind.longestParameters else {
            throw DeskError(413, "body_too_large", "The change has more parameters than can be kept.")
        }
        return (request, answerKey)
    }

    private func write(_ request: ChangeTable.Request, on connection: PostgresConnection) throws -> ChangeTable.Answer {
        do {
            return try ChangeTable.ask(request, on: connection)
        } catch let error as ChangeTable.TooMany {
            throw DeskError(
                429, "too_many_jobs",
                "\(error.limit) of your jobs are running already; wait until one has ended, or cancel one.",
                retryAfter: 10)
        } catch let error as ChangeTable.TooManyInquiries {
            throw DeskError(429, "too_many_jobs", "\(error)", retryAfter: 30)
        } catch let error as PostgresError where error.isForbidden {
            // A kind that is younger than the schema.
            throw DeskError.olderSchema
        }
    }

    /// Gives a new endpoint its id, and seals what is secret for the workers.
    private func seal(
        _ found: inout ChangeRoute.Subject, _ kind: ChangeKind, on connection: PostgresConnection
    ) throws {
        if kind == .endpointAdd { found.target = EndpointTable.newID() }
        guard let secrets = found.secrets else { return }
        let known: [UInt8]?
        do {
            known = try SecretIntake.publicKey(on: connection)
        } catch let error as PostgresError where error.isUndefined {
            throw DeskError.olderSchema
        }
        guard let key = known else {
            throw DeskError.unavailable(
                "No worker has noted yet what secrets are sealed to: one of this version has to run.")
        }
        found.parameters = found.parameters.adding(
            SecretIntake.member,
            .string(try SecretIntake.seal(secrets.given, to: key, kind, found.target, url: secrets.url)))
    }

    private func asked(_ answer: ChangeTable.Answer, _ kind: ChangeKind) throws(DeskError) -> Asked {
        switch answer {
        case .asked(let job): return Asked(job: job, kind: kind, isRepeated: false)
        case .repeated(let job): return Asked(job: job, kind: kind, isRepeated: true)
        case .mismatch:
            throw DeskError(
                409, "idempotency_mismatch",
                "Another change has this Idempotency-Key, and it is running or ended within the last"
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
        return ChangeAnswer(change, for: viewer)
    }
}

extension JSON {
    fileprivate func adding(_ name: String, _ value: JSON) -> JSON {
        .object((members ?? []) + [JSON.Member(name: name, value: value)])
    }
}

extension Viewer {
    /// Whether the viewer asked for a change, and not an operator who had the name before.
    func hasAsked(for change: Change, on connection: PostgresConnection) throws -> Bool {
        try change.user == user && ConsoleUserTable.isSame(user, as: change.asked, on: connection)
    }
}

extension DeskError {
    static let olderSchema = unavailable("The database has an older schema: run `entitled migrate`.")

    static func changedMeanwhile(_ message: String) -> DeskError { DeskError(409, "changed_meanwhile", message) }

    /// Another operator's change is not told from one that is not there.
    static func noOwnChange(_ number: Int64) -> DeskError { .notFound("There is no change \(number) of yours.") }
}
