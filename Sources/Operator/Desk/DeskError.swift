import Base
import Database

/// The reason why a question is not answered: `{"error": {"code", "message", "field"?, "needs"?, "request_id"}}`.
package struct DeskError: Error, Sendable, Equatable {
    /// Of HTTP.
    package let status: Int
    package let code: String
    /// A sentence, with the fix where there is one.
    package let message: String
    /// The parameter that it is about.
    package let field: String?
    /// The roles that may, of 403.
    package let needs: [OperatorRole]
    /// The change that it is about.
    package let job: Int64?
    /// After so many seconds the same question may be answered.
    package let retryAfter: Int?

    package init(
        _ status: Int, _ code: String, _ message: String, field: String? = nil, needs: [OperatorRole] = [],
        job: Int64? = nil, retryAfter: Int? = nil
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.field = field
        self.needs = needs
        self.job = job
        self.retryAfter = retryAfter
    }

    package static func badRequest(_ message: String, field: String? = nil) -> DeskError {
        DeskError(400, "bad_request", message, field: field)
    }

    package static func notFound(_ message: String, field: String? = nil) -> DeskError {
        DeskError(404, "not_found", message, field: field)
    }

    /// It was there, and retention dropped it.
    package static func notKept(_ message: String) -> DeskError { DeskError(410, "not_kept", message) }

    package static func forbidden(_ role: OperatorRole, _ section: DeskSection) -> DeskError {
        let needs = OperatorRole.allCases.filter(section.roles.contains)
        return DeskError(
            403, "forbidden",
            "The role \(role.rawValue) does not see \(section.rawValue); it needs one of: "
                + "\(needs.map(\.rawValue).joined(separator: ", ")).", needs: needs)
    }

    /// The role sees the list, and not by what this parameter names.
    package static func forbidden(_ role: OperatorRole, parameter name: String) -> DeskError {
        let needs = OperatorRole.allCases.filter { Viewer(user: "", role: $0).seesPersons }
        return DeskError(
            403, "forbidden", "The role \(role.rawValue) may not see customers, so it cannot filter by \(name).",
            field: name, needs: needs)
    }

    package static func unavailable(_ message: String) -> DeskError {
        DeskError(503, "unavailable", message, retryAfter: 5)
    }

    /// The answer is being made.
    package static func computing(_ message: String) -> DeskError {
        DeskError(503, "computing", message, retryAfter: 2)
    }

    /// - Parameter id: of the request.
    package func document(requestID id: String) -> JSON {
        .object([
            "error": .object([
                "code": .string(code), "message": .string(message), "field": field.map { .string($0) },
                "needs": needs.isEmpty ? nil : .strings(needs.map(\.rawValue)), "job": job.map { .int($0) },
                "request_id": .string(id),
            ])
        ])
    }
}
