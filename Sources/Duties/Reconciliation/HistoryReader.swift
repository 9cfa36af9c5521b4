import AppStore
import AppStoreAPI
import Base
import Database
import Ingest

/// Reads the history of one app, and lets in what the admission lets in.
package struct HistoryReader: Sendable {
    package let client: ServerAPIClient
    private let admission: NotificationAdmission

    package init(client: ServerAPIClient, admission: NotificationAdmission) {
        self.client = client
        self.admission = admission
    }

    /// What one page held.
    package struct Page: Sendable {
        /// The oldest first, each once.
        package var notifications: [NewNotification] = []
        /// What is not taken, by the reason.
        package var refused: [String: Int] = [:]
        /// What the next page comes after; nil: there is none.
        var token: String?
    }

    /// What Apple has no longer names than this, in bytes; the database could not look for them.
    private static let longestID = 1024

    func page(
        _ query: NotificationHistoryQuery, after token: String?, _ question: HistoryFilter,
        from source: NotificationSource, _ options: CallOptions
    ) throws(ServerAPIError) -> Page {
        let answer = try client.notificationPage(query, after: token, in: question.place.environment, options)
        guard !answer.hasMore || answer.paginationToken.map({ $0 != token && $0.utf8.count <= 4096 }) == true else {
            throw .malformed("there are more pages, but nothing says how to get them")
        }
        var page = Page(token: answer.hasMore ? answer.paginationToken : nil)
        var known: Set<NotificationIdentity> = []
        for item in answer.items {
            switch admission.admit(Array(item.signedPayload.utf8), from: source) {
            case .success(let notification):
                if let reason = flaw(notification, question.place) {
                    page.refused[reason, default: 0] += 1
                } else if question.wants(notification), known.insert(notification.identity).inserted {
                    page.notifications.append(notification)
                }
            case .failure(let refusal):
                page.refused[try reason(refusal), default: 0] += 1
            }
        }
        page.notifications.sort { ($0.signedDate ?? 0) < ($1.signedDate ?? 0) }
        return page
    }

    private func flaw(_ notification: NewNotification, _ place: AppScope) -> String? {
        let identity = notification.identity
        guard identity.app == place.app, identity.environment == place.environment else { return "other_app" }
        let ids = [identity.uuid, notification.originalTransactionID ?? ""]
        return ids.contains { $0.utf8.count > HistoryReader.longestID } ? "unstorable" : nil
    }

    /// - Throws: for what says nothing about the notification; it must not be passed over.
    private func reason(_ refusal: NotificationAdmission.Rejection) throws(ServerAPIError) -> String {
        switch refusal {
        case .unverified(let failure) where failure.reason == .revocationUnknown:
            throw .unreachable("no responder answers whether the certificates it signs with are revoked")
        case .unverified(let failure): return failure.reason.rawValue
        case .noNotification: return "no_notification"
        case .unknownApp: return "unknown_app"
        case .environmentNotAllowed: return "environment_not_allowed"
        case .unready(let reason): throw .unreachable(reason)
        }
    }
}
