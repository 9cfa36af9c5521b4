import AppStore
import Base
import Daemon
import Database
import HTTP

/// The store's endpoint: reads a notification, verifies it, and passes it on to be committed.
package final class IngestHandler: HTTPHandler {
    package static let path = "/apple/notifications"

    private let admission: NotificationAdmission
    private let committer: NotificationCommitter
    private let refused: UnconfiguredApps
    private let logger: Logger
    private let metrics: Metrics
    private let tracer: Tracer

    package init(
        apps: AppRegistry, verifier: SignedDataVerifier, committer: NotificationCommitter,
        dictionaries: HeaderDictionaries, logger: Logger, metrics: Metrics, tracer: Tracer = .off
    ) {
        self.tracer = tracer
        admission = NotificationAdmission(apps: apps, verifier: verifier, dictionaries: dictionaries)
        self.committer = committer
        self.logger = logger
        self.metrics = metrics
        refused = UnconfiguredApps(logger: logger, metrics: metrics)
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.path == IngestHandler.path else {
            return .error(404, code: "not_found", message: "notifications are accepted at \(IngestHandler.path)")
        }
        guard head.method == "POST" else {
            var response = HTTPResponse.error(405, code: "method_not_allowed", message: "only POST is supported here")
            response.headers.append(("Allow", "POST"))
            return response
        }
        return nil
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        let begun = tracer.isOn ? Span.now() : 0
        switch read(request.body) {
        case .success(let notification):
            committer.commit(
                notification, responder, span: IngestSpan(of: notification.identity, begun: begun, tracer))
        case .failure(let refusal):
            metrics.count(.ingestAnswers, ["answer": refusal.code])
            logger.debug("notification rejected", ["code": .string(refusal.code), "detail": .string(refusal.message)])
            let isOurFault = refusal.status == 503
            responder.respond(
                isOurFault
                    ? IngestResponse.unavailable(refusal.message)
                    : .error(refusal.status, code: refusal.code, message: refusal.message))
        }
    }

    /// An answer other than 200, known before the database is asked.
    package struct Rejection: Error {
        package let status: Int
        package let code: String
        package let message: String
    }

    /// Everything between the body and the database.
    package func read(_ body: [UInt8]) -> Result<NewNotification, Rejection> {
        guard let jws = RequestBody.signedPayload(in: body) else {
            return .failure(
                Rejection(
                    status: 400, code: "malformed_body", message: "the body is not a JSON object with a signedPayload"))
        }
        return admission.admit(jws, from: .store).mapError(refusal)
    }

    private func refusal(for refusal: NotificationAdmission.Rejection) -> Rejection {
        switch refusal {
        case .unverified(let failure): return self.refusal(for: failure)
        case .noNotification:
            return Rejection(status: 400, code: "malformed_jws", message: "signed, but not a notification of version 2")
        case .unknownApp(let subject, let message):
            refused.note(subject, reason: "unknown_app")
            return Rejection(status: 403, code: "unknown_app", message: message)
        case .environmentNotAllowed(let subject, let message):
            refused.note(subject, reason: "environment_not_allowed")
            return Rejection(status: 403, code: "environment_not_allowed", message: message)
        case .unready(let reason):
            logger.error("notification packing failed", ["error": .string(reason)])
            return Rejection(status: 503, code: "unavailable", message: "please send it again")
        }
    }

    private func refusal(for failure: VerificationFailure) -> Rejection {
        switch failure.reason {
        case .malformedJWS, .unsupportedAlgorithm, .chainLength, .malformedPayload:
            Rejection(status: 400, code: "malformed_jws", message: failure.detail)
        case .wrongEnvironment:
            Rejection(status: 403, code: "environment_not_allowed", message: failure.detail)
        case .wrongBundleID, .wrongAppleAppID:
            Rejection(status: 403, code: "unknown_app", message: failure.detail)
        case .revocationUnknown:
            // No forgery: the responder, or the way to it, is away.
            Rejection(status: 503, code: "unavailable", message: failure.detail)
        default:
            Rejection(status: 403, code: "untrusted", message: failure.detail)
        }
    }
}
