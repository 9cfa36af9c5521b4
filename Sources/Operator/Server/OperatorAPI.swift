import Base
import Crypto
import Daemon
import Database
import HTTP
import Postgres

/// The operator API: JSON for operators, by keys of their own.
package struct OperatorAPI: HTTPHandler {
    private let routes: [OperatorRoute]
    private let settings: ConsoleSettings
    private let threads: DeskThreads
    private let keys = OperatorKeys()
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics

    private static let document = OperatorRoute.root + "/openapi.yaml"

    init(_ settings: ConsoleSettings, threads: DeskThreads, clock: any WallClock, logger: Logger, metrics: Metrics) {
        routes = OperatorRoute.all.sorted { $0.exactness > $1.exactness }
        self.settings = settings
        self.threads = threads
        self.clock = clock
        self.logger = logger
        self.metrics = metrics
    }

    /// Whether a path is one of the API.
    static func isOne(_ path: String) -> Bool { path.hasPrefix("/operator/") || path == "/operator" }

    // MARK: - Requests

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.path != OperatorAPI.document else { return wrongMethod(head) }
        do throws(DeskError) {
            guard let found = match(head.path) else {
                throw DeskError.notFound("This path does not exist; \(OperatorAPI.document) describes those that do.")
            }
            if let refusal = wrongMethod(head) { return counted(refusal, found.route) }
            _ = try OperatorKeys.key(of: head)
            return nil
        } catch {
            return counted(response(error, RequestID()), match(head.path)?.route)
        }
    }

    private func wrongMethod(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.method != "GET", head.method != "HEAD" else { return nil }
        let error = DeskError(
            405, "method_not_allowed", "This path does not support \(head.method); it answers GET, HEAD.")
        var response = response(error, RequestID())
        response.headers.append(("Allow", "GET, HEAD"))
        return response
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let head = request.head
        if head.path == OperatorAPI.document {
            return responder.respond(
                HTTPResponse(
                    status: 200, headers: [("Content-Type", "application/yaml")], body: settings.openAPI))
        }
        let id = RequestID()
        let counting = HTTPResponder { [self] response in
            responder.respond(counted(response, match(head.path)?.route))
        }
        do throws(DeskError) {
            guard let (route, values) = match(head.path) else {
                throw DeskError.notFound("This path does not exist.")
            }
            let key = try OperatorKeys.key(of: head)
            threads.run(counting, failed: { [self] in failure($0, id) }) { [self] connection in
                try answer(route, values, head, key: key, id, on: connection)
            }
        } catch {
            counting.respond(response(error, id))
        }
    }

    private func answer(
        _ route: OperatorRoute, _ values: PathValues, _ head: HTTPRequestHead, key: String, _ id: RequestID,
        on connection: PostgresConnection
    ) throws -> HTTPResponse {
        let now = clock.now()
        let viewer = try keys.viewer(withKey: key, now: now, on: connection)
        // Before the query is looked at: a role is told nothing of what it does not see.
        try viewer.check(route.section)
        // A cursor of one customer's list is none of another's.
        let list = ([route.path] + values.values.sorted { $0.key < $1.key }.map(\.value)).joined(separator: " ")
        var parameters = try DeskParameters(query: head.query, of: list)
        let answer = try DatabaseDesk.ask(settings.desk, for: viewer, now: now, on: connection) { desk in
            try route.ask(desk, values, &parameters)
        }
        return OperatorAPI.found(answer.json.bytes + [0x0a], head, id)
    }

    /// 200, or 304 where the caller has it.
    private static func found(_ body: [UInt8], _ head: HTTPRequestHead, _ id: RequestID) -> HTTPResponse {
        let tag = "\"\(Hex.encode(Digest.sha256(body)))\""
        let headers: HTTPResponse.Headers = [
            ("ETag", tag), ("Cache-Control", "no-cache, private"), ("X-Content-Type-Options", "nosniff"),
            ("X-Request-Id", id.text),
        ]
        let known = (head.header("if-none-match") ?? "").split(separator: ",").map { item in
            item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
        }
        if known.contains(where: { String($0) == tag || String($0) == "*" }) {
            return HTTPResponse(status: 304, headers: headers)
        }
        return HTTPResponse(status: 200, headers: [("Content-Type", "application/json")] + headers, body: body)
    }

    private func match(_ path: String) -> (route: OperatorRoute, values: PathValues)? {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for route in routes {
            if let values = route.values(of: Array(parts)) { return (route, values) }
        }
        return nil
    }

    private func counted(_ response: HTTPResponse, _ route: OperatorRoute?) -> HTTPResponse {
        metrics.count(.operatorAnswers, ["route": route?.path ?? "none", "status": String(response.status)])
        return response
    }

    // MARK: - Failures

    private func response(_ error: DeskError, _ id: RequestID) -> HTTPResponse {
        var headers: HTTPResponse.Headers = [
            ("Content-Type", "application/json"), ("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"),
            ("X-Request-Id", id.text),
        ]
        if error.status == 401 { headers.append(("WWW-Authenticate", "Bearer")) }
        if let seconds = error.retryAfter { headers.append(("Retry-After", String(seconds))) }
        return HTTPResponse(
            status: error.status, headers: headers, body: error.document(requestID: id.text).bytes + [0x0a])
    }

    private func failure(_ error: any Error, _ id: RequestID) -> HTTPResponse {
        response(DeskError(failure: error, requestID: id.text, logger), id)
    }
}

/// Names a request in its answer and in the log.
struct RequestID: Sendable {
    let text = Hex.encode(SecureRandom.bytes(8))
}

extension DeskError {
    /// What a caller is told of an error. Whatever is no refusal goes to the log alone.
    package init(failure error: any Error, requestID: String, _ logger: Logger) {
        if let error = error as? DeskError {
            self = error
            return
        }
        let fields: Logger.Fields = ["error": .string("\(error)"), "request_id": .string(requestID)]
        guard let database = error as? PostgresError else {
            logger.error("operator request failed", fields)
            self.init(
                500, "internal", "The request failed because of an internal error; the log has the reason.")
            return
        }
        if database.sqlstate == "57014" {
            self = .unavailable(
                "The answer took longer than two seconds to find; ask for less, by since and until or another filter.")
        } else if database.sqlstate == "42P01" || database.sqlstate == "42703" {
            self = .unavailable("The database has an older schema: run `entitled migrate`.")
        } else if database.isRetryable {
            logger.warning("operator request not answered", fields)
            self = .unavailable("The database is unavailable or busy.")
        } else {
            logger.error("operator request failed", fields)
            self.init(
                500, "internal", "The request failed because of an internal error; the log has the reason.")
        }
    }
}
