import Base
import Crypto
import Daemon
import Database
import HTTP
import Postgres

/// The operator API: JSON for operators, by keys of their own. A change is written down, and a worker does it.
package struct OperatorAPI: HTTPHandler {
    private let routes: [OperatorRoute]
    private let changeRoutes: [ChangeRoute]
    private let settings: ConsoleSettings
    private let threads: DeskThreads
    private let keys = OperatorKeys()
    private let changes: ChangeDesk
    private let waiter: ChangeWaiter
    private let clock: any WallClock
    private let logger: Logger
    private let metrics: Metrics

    private static let document = OperatorRoute.root + "/openapi.yaml"

    init(
        _ settings: ConsoleSettings, threads: DeskThreads, changes: ChangeDesk, waiter: ChangeWaiter,
        clock: any WallClock, logger: Logger, metrics: Metrics
    ) {
        routes = OperatorRoute.all.sorted { $0.pattern.exactness > $1.pattern.exactness }
        changeRoutes = (ChangeRoute.all + [.jobs]).sorted { $0.pattern.exactness > $1.pattern.exactness }
        self.changes = changes
        self.waiter = waiter
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
        guard head.path != OperatorAPI.document else { return wrongMethod(head, ["GET", "HEAD"]) }
        let path = label(of: head)
        do throws(DeskError) {
            let methods = (match(head.path) == nil ? [] : ["GET", "HEAD"]) + changeMethods(head.path)
            guard !methods.isEmpty else {
                throw DeskError.notFound("This path does not exist; \(OperatorAPI.document) describes those that do.")
            }
            if let refusal = wrongMethod(head, methods) { return counted(refusal, path) }
            _ = try OperatorKeys.key(of: head)
            return nil
        } catch {
            return counted(response(error, RequestID()), path)
        }
    }

    private func wrongMethod(_ head: HTTPRequestHead, _ methods: [String]) -> HTTPResponse? {
        guard !methods.contains(head.method) else { return nil }
        let allowed = methods.joined(separator: ", ")
        let error = DeskError(
            405, "method_not_allowed", "This path does not support \(head.method); it answers \(allowed).")
        var response = response(error, RequestID())
        response.headers.append(("Allow", allowed))
        return response
    }

    /// As metrics name the path.
    private func label(of head: HTTPRequestHead) -> String {
        change(head)?.route.path ?? match(head.path)?.route.path ?? "none"
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
            responder.respond(counted(response, label(of: head)))
        }
        guard ["GET", "HEAD"].contains(head.method) else { return ask(request, id, counting) }
        do throws(DeskError) {
            guard let (route, values) = match(head.path) else {
                throw DeskError.notFound("This path does not exist.")
            }
            let key = try OperatorKeys.key(of: head)
            threads.run(counting, failed: { [self] in failure($0, id) }) { [self] connection in
                try answer(route, values, request, key: key, id, on: connection)
            }
        } catch {
            counting.respond(response(error, id))
        }
    }

    private func answer(
        _ route: OperatorRoute, _ values: PathValues, _ request: HTTPRequest, key: String, _ id: RequestID,
        on connection: PostgresConnection
    ) throws -> HTTPResponse {
        let (now, head) = (clock.now(), request.head)
        let caller = try keys.caller(withKey: key, now: now, on: connection)
        let answer = try route.answer(
            values, query: head.query, hasFormats: true, prefersCSV: OperatorAPI.prefersCSV(head), for: caller.viewer,
            settings.desk, now: now, on: connection)
        guard let table = answer as? any DeskCSV else {
            return OperatorAPI.found(answer.json.bytes + [0x0a], head, id)
        }
        try DeskExport.note(
            table, route, values, query: head.query, by: origin(of: request, caller), on: connection)
        // A word of the path, or the name of a chart that there is.
        let file = DeskExport(table, path: head.path)
        var more: HTTPResponse.Headers = [("Content-Disposition", "attachment; filename=\"\(file.name).csv\"")]
        if let next = file.next { more.append(("Link", OperatorAPI.link(head, after: next))) }
        return OperatorAPI.found(Array(file.csv.utf8), head, id, type: DeskExport.contentType, more)
    }

    private static func prefersCSV(_ head: HTTPRequestHead) -> Bool {
        (head.header("accept") ?? "").split(separator: ",").contains { item in
            item.split(separator: ";").first?.drop { $0 == " " }.lowercased() == "text/csv"
        }
    }

    /// The address of the rows behind a cursor.
    private static func link(_ head: HTTPRequestHead, after cursor: String) -> String {
        let pairs = (head.query ?? "").split(separator: "&").filter { !$0.hasPrefix("after=") }.map(String.init)
        return "<\(head.path)?\((pairs + ["after=\(cursor)"]).joined(separator: "&"))>; rel=\"next\""
    }

    /// 200, or 304 where the caller has it.
    private static func found(
        _ body: [UInt8], _ head: HTTPRequestHead, _ id: RequestID, type: String = "application/json",
        _ more: HTTPResponse.Headers = []
    ) -> HTTPResponse {
        let tag = "\"\(Hex.encode(Digest.sha256(body)))\""
        let headers: HTTPResponse.Headers = [
            ("ETag", tag), ("Cache-Control", "no-cache, private"), ("X-Content-Type-Options", "nosniff"),
            ("X-Request-Id", id.text), ("Vary", "Accept"),
        ]
        let known = (head.header("if-none-match") ?? "").split(separator: ",").map { item in
            item.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
        }
        if known.contains(where: { String($0) == tag || String($0) == "*" }) {
            return HTTPResponse(status: 304, headers: headers)
        }
        return HTTPResponse(status: 200, headers: [("Content-Type", type)] + headers + more, body: body)
    }

    private func match(_ path: String) -> (route: OperatorRoute, values: PathValues)? {
        let parts = PathPattern.parts(of: path)
        for route in routes {
            if let values = route.pattern.values(of: parts) { return (route, values) }
        }
        return nil
    }

    private func counted(_ response: HTTPResponse, _ route: String) -> HTTPResponse {
        metrics.count(.operatorAnswers, ["route": route, "status": String(response.status)])
        return response
    }

    // MARK: - Changes

    private func change(_ head: HTTPRequestHead) -> (route: ChangeRoute, values: PathValues)? {
        let parts = PathPattern.parts(of: head.path)
        for route in changeRoutes where route.method == head.method {
            if let values = route.pattern.values(of: parts) { return (route, values) }
        }
        return nil
    }

    /// The methods by which changes are asked for at a path.
    private func changeMethods(_ path: String) -> [String] {
        let parts = PathPattern.parts(of: path)
        return Set(changeRoutes.filter { $0.pattern.values(of: parts) != nil }.map(\.method)).sorted()
    }

    /// Writes the change down, and answers what came of it, or that it is under way.
    private func ask(_ request: HTTPRequest, _ id: RequestID, _ responder: HTTPResponder) {
        do throws(DeskError) {
            guard let (route, values) = change(request.head) else {
                throw DeskError.notFound("This path does not exist.")
            }
            let key = try OperatorKeys.key(of: request.head)
            let idempotencyKey = try OperatorAPI.single("Idempotency-Key", of: request.head) ?? ""
            let plan = try OperatorAPI.single("If-Plan", of: request.head)
            var parameters = try DeskParameters(query: request.head.query, of: route.path)
            let isPreview = try parameters.flag("preview")
            try parameters.finish()
            threads.run(responder, failed: { [self] in failure($0, id) }) { [self] connection in
                let now = clock.now()
                let caller = try keys.caller(withKey: key, now: now, on: connection)
                let origin = origin(of: request, caller)
                guard !isPreview else {
                    let preview = try changes.preview(
                        route, of: values.values, body: request.body, by: caller.viewer, from: origin, now: now,
                        on: connection)
                    return OperatorAPI.done(200, preview.json, id)
                }
                let asked = try changes.ask(
                    route, of: values.values, body: request.body, by: caller.viewer, from: origin,
                    idempotencyKey: idempotencyKey, insisting: plan, now: now, on: connection)
                // It takes as long as it takes.
                guard !asked.kind.isBulk else { return answer(nil, to: asked, id) }
                waiter.wait(for: asked.job) { [self] change in
                    responder.respond(answer(change, to: asked, id))
                }
                return nil
            }
        } catch {
            responder.respond(response(error, id))
        }
    }

    /// The value of a header that may stand once.
    private static func single(_ name: String, of head: HTTPRequestHead) throws(DeskError) -> String? {
        let values = head.headers.filter { $0.name == name.lowercased() }.map(\.value)
        guard values.count <= 1 else { throw .badRequest("The header \(name) occurs twice.", field: name) }
        return values.first
    }

    private func origin(of request: HTTPRequest, _ caller: (viewer: Viewer, key: String)) -> ChangeOrigin {
        let address = settings.proxies.client(request.head, peer: request.remoteAddress)?.ip
        return ChangeOrigin(
            user: caller.viewer.user, credential: .key(caller.key), address: address.map { "\($0)" } ?? "",
            userAgent: request.head.header("user-agent"))
    }

    private static func done(_ status: Int, _ document: JSON, _ id: RequestID) -> HTTPResponse {
        HTTPResponse(
            status: status,
            headers: [
                ("Content-Type", "application/json"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"), ("X-Request-Id", id.text),
            ], body: document.bytes + [0x0a])
    }

    /// - Parameter change: nil: it is under way.
    private func answer(_ change: Change?, to asked: ChangeDesk.Asked, _ id: RequestID) -> HTTPResponse {
        var answer: HTTPResponse
        if let change, change.state != .done {
            let isChanged = [ChangeVersions.changed, ChangeVersions.otherHoldings].contains(change.error)
            answer = response(
                DeskError(
                    409, isChanged ? "changed_meanwhile" : "not_done",
                    change.error ?? "The change was not made.", job: change.id), id)
        } else {
            let document =
                change.map { ChangeAnswer($0, opening: asked.answerKey).json }
                ?? .object([
                    "job": .int(asked.job), "kind": .string(asked.kind.rawValue), "state": .string("running"),
                ])
            answer = OperatorAPI.done(change == nil ? 202 : 200, document, id)
        }
        answer.headers.append(("Location", "\(OperatorRoute.root)/jobs/\(asked.job)"))
        if asked.isRepeated { answer.headers.append(("Idempotent-Replayed", "true")) }
        return answer
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
                "The query took longer than two seconds; narrow it by since and until or another filter.")
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
