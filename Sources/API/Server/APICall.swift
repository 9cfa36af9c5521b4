import Base
import HTTP
import Postgres
import Subscriptions

/// What a caller sent, with the right to send it.
package struct APIRequest: Sendable {
    package let http: HTTPRequest
    /// Of the path, decoded.
    package let parameters: [String: String]
    /// Who calls; nil on an open route.
    package let key: APIKey?
    let share: WorkShare
    /// Counts the request for the Apple account that its body names. Routes that take what Apple signed call it when
    /// they have verified that: before, anyone may have written it.
    package let countForAccount: @Sendable () -> Void
    /// When all of it was there: its caller waits since then.
    let arrived = ContinuousClock.now

    package init(
        http: HTTPRequest, parameters: [String: String] = [:], key: APIKey? = nil, share: WorkShare = .free,
        countForAccount: @escaping @Sendable () -> Void = {}
    ) {
        self.http = http
        self.parameters = parameters
        self.key = key
        self.share = share
        self.countForAccount = countForAccount
    }
}

extension APIRequest {
    /// The app user ids in its path, and in members of its body such as `new_app_user_id`.
    var namedCustomers: Set<String> {
        var ids = Set([parameters["app_user_id"], parameters["customer_id"]].compactMap { $0 })
        let members = (try? JSON(parsing: http.body, deepest: APICall.deepestBody))?.members ?? []
        for member in members where member.name.hasSuffix("app_user_id") || member.name.hasSuffix("customer_id") {
            if let id = member.value.stringValue { ids.insert(id) }
        }
        return Set(ids.map(AppUserID.normal))
    }
}

/// A request at work, with a connection that no other request has meanwhile.
package struct APICall {
    package let request: APIRequest
    package let connection: PostgresConnection

    package init(_ request: APIRequest, on connection: PostgresConnection) {
        self.request = request
        self.connection = connection
    }

    package var head: HTTPRequestHead { request.http.head }
    package var key: APIKey? { request.key }
    package var isSecret: Bool { request.key?.kind == .secret }
    /// `X-Platform`, in lower case.
    package var platform: String? { head.header("x-platform")?.lowercased() }

    /// A parameter of the path.
    ///
    /// - Throws: `APIError`, 404, where it is empty.
    package func parameter(_ name: String) throws -> String {
        guard let value = request.parameters[name], !value.isEmpty else { throw APIError.pageNotFound }
        return value
    }

    /// A parameter of the path that may name a customer.
    ///
    /// - Throws: `APIError`: 400 with code 7220 or 7256.
    package func appUserID(_ name: String = "app_user_id") throws -> String {
        try APICall.appUserID(request.parameters[name] ?? "")
    }

    /// A text that may name a customer, in the spelling that names them here.
    ///
    /// - Throws: `APIError`: 400 with code 7220 or 7256.
    package static func appUserID(_ text: String) throws -> String {
        let id = AppUserID.normal(text)
        if id.isEmpty { throw APIError(400, code: 7220, "The app user id is empty.") }
        if let why = AppUserID.objection(to: id) {
            throw APIError.unusable(why)
        }
        return id
    }

    /// Arrays and objects in each other; SDKs send five.
    static let deepestBody = 16

    /// The body as an object.
    ///
    /// - Throws: `APIError`: 400 with code 7226.
    package func json() throws -> JSON {
        guard let body = try? JSON(parsing: request.http.body, deepest: APICall.deepestBody), body.members != nil else {
            throw APIError.badRequest("The body must be a JSON object.")
        }
        return body
    }
}

extension JSON {
    /// A text that a body must have.
    ///
    /// - Throws: `APIError`: 400 with code 7226.
    package func text(_ name: String) throws -> String {
        guard let value = try optionalText(name) else { throw APIError.badRequest("\(name) is missing.") }
        return value
    }

    /// A text that a body may have; `null` counts as missing.
    ///
    /// - Throws: `APIError`: 400 with code 7226, where it is something else.
    package func optionalText(_ name: String) throws -> String? {
        switch self[name] {
        case nil, .null: return nil
        case .string(let value): return value
        default: throw APIError.badRequest("\(name) must be a string.")
        }
    }
}

extension APIError {
    package static let pageNotFound = APIError(404, code: notFoundCode, "This path does not exist.")
}
