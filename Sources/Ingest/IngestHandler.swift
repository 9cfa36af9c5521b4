import AppStore
import Base
import Compression
import FoundationEssentials
import HTTPServer
import Queue
import Telemetry

/// The store's endpoint: reads a notification, verifies it, and passes it on to be committed.
package final class IngestHandler: HTTPHandler {
    package static let path = "/apple/notifications"

    private let apps: AppRegistry
    private let verifier: SignedDataVerifier
    private let committer: NotificationCommitter
    private let dictionaries: HeaderDictionaries
    private let refused: RefusedSubjects
    private let logger: Logger
    private let metrics: Metrics

    package init(
        apps: AppRegistry, verifier: SignedDataVerifier, committer: NotificationCommitter,
        dictionaries: HeaderDictionaries, logger: Logger, metrics: Metrics
    ) {
        self.apps = apps
        self.verifier = verifier
        self.committer = committer
        self.dictionaries = dictionaries
        self.logger = logger
        self.metrics = metrics
        refused = RefusedSubjects(logger: logger, metrics: metrics)
    }

    package func refuse(_ head: HTTPRequestHead) -> HTTPResponse? {
        guard head.path == IngestHandler.path else {
            return .error(404, code: "not_found", message: "notifications are taken at \(IngestHandler.path)")
        }
        guard head.method == "POST" else {
            var response = HTTPResponse.error(405, code: "method_not_allowed", message: "only POST is taken here")
            response.headers.append(("Allow", "POST"))
            return response
        }
        return nil
    }

    package func handle(_ request: HTTPRequest, _ responder: HTTPResponder) {
        switch read(request.body) {
        case .success(let notification):
            committer.commit(notification, responder)
        case .failure(let refusal):
            metrics.count(.ingestAnswers, ["answer": refusal.code])
            logger.debug("refused", ["code": .string(refusal.code), "detail": .string(refusal.message)])
            let isOurFault = refusal.status == 503
            responder.respond(
                isOurFault
                    ? IngestResponse.unavailable(refusal.message)
                    : .error(refusal.status, code: refusal.code, message: refusal.message))
        }
    }

    /// An answer other than 200, known before the database is asked.
    package struct Refusal: Error {
        package let status: Int
        package let code: String
        package let message: String
    }

    /// Everything between the body and the database: cheap checks first, then the signature, then whose it is.
    package func read(_ body: [UInt8]) -> Result<NewNotification, Refusal> {
        guard let jws = RequestBody.signedPayload(in: body) else {
            return .failure(
                Refusal(
                    status: 400, code: "malformed_body", message: "the body is no JSON object with a signedPayload"))
        }
        let verified: VerifiedJWS
        switch verifier.verify(jws) {
        case .success(let data): verified = data
        case .failure(let failure): return .failure(refusal(for: failure))
        }
        guard let payload = NotificationPayload(payload: verified.payload) else {
            return .failure(
                Refusal(status: 400, code: "malformed_jws", message: "signed, but no notification of version 2"))
        }
        switch apps.admit(payload.subject) {
        case .unknownApp(let message):
            refused.note(payload.subject, reason: "unknown_app")
            return .failure(Refusal(status: 403, code: "unknown_app", message: message))
        case .environmentNotAllowed(let message):
            refused.note(payload.subject, reason: "environment_not_allowed")
            return .failure(Refusal(status: 403, code: "environment_not_allowed", message: message))
        case .admitted(let app, let environment):
            return notification(payload, verified, app.id, environment)
        }
    }

    private func refusal(for failure: VerificationFailure) -> Refusal {
        switch failure.reason {
        case .malformedJWS, .unsupportedAlgorithm, .chainLength, .malformedPayload:
            Refusal(status: 400, code: "malformed_jws", message: failure.detail)
        case .wrongEnvironment:
            Refusal(status: 403, code: "environment_not_allowed", message: failure.detail)
        case .wrongBundleID, .wrongAppleAppID:
            Refusal(status: 403, code: "unknown_app", message: failure.detail)
        case .revocationUnknown:
            // No forgery: the responder, or the way to it, is away.
            Refusal(status: 503, code: "unavailable", message: failure.detail)
        default:
            Refusal(status: 403, code: "untrusted", message: failure.detail)
        }
    }

    private func notification(
        _ payload: NotificationPayload, _ verified: VerifiedJWS, _ app: String, _ environment: StoreEnvironment
    ) -> Result<NewNotification, Refusal> {
        let headerID = StoredJWS.headerID(verified.header)
        let packed: [UInt8]
        do {
            packed = try dictionaries.compress(verified.payload, header: verified.header, id: headerID)
        } catch {
            logger.error("a payload could not be compressed", ["error": .string("\(error)")])
            return .failure(Refusal(status: 503, code: "unavailable", message: "please send it again"))
        }
        let stored = StoredJWS(headerID: headerID, payload: packed, signature: verified.signature)
        let notification = NewNotification(
            identity: NotificationIdentity(app: app, environment: environment, uuid: payload.notificationUUID),
            type: payload.notificationType.rawValue, subtype: payload.subtype?.rawValue,
            originalTransactionID: payload.statedOriginalTransactionId, signedDate: payload.signedDate,
            source: .store, header: verified.header, stored: stored)
        return .success(notification)
    }
}
