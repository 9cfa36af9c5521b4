import AppStore
import Base

extension ServerAPIClient {
    /// One page of what Apple sent or tried to send, at most 20 (Get Notification History,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-notification-history).
    ///
    /// - Parameter token: of the page before, of the same query.
    package func notificationPage(
        _ query: NotificationHistoryQuery, after token: String? = nil, in environment: StoreEnvironment,
        _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> NotificationPage {
        var call = try ServerAPICall(.notificationHistory, ["v1", "notifications", "history"])
        call.method = "POST"
        call.body = query.json
        call.answerLimit = ServerAPICall.pageLimit
        if let token { call.query = [("paginationToken", token)] }
        let reader = AnswerReader(self, environment)
        let answer: NotificationPageAnswer = try reader.read(try send(call, in: environment, options))
        return NotificationPage(
            items: answer.items.map { NotificationHistoryItem($0, reader) }, paginationToken: answer.paginationToken,
            hasMore: answer.hasMore)
    }

    /// Has Apple send a TEST notification; the token tells later what became of it (Request a Test Notification,
    /// https://developer.apple.com/documentation/appstoreserverapi/request-a-test-notification).
    package func requestTestNotification(
        in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> String {
        var call = try ServerAPICall(.testNotification, ["v1", "notifications", "test"])
        call.method = "POST"
        let reader = AnswerReader(self, environment)
        let answer: TestRequestAnswer = try reader.read(try send(call, in: environment, options))
        return answer.testNotificationToken
    }

    /// What became of a TEST notification (Get Test Notification Status,
    /// https://developer.apple.com/documentation/appstoreserverapi/get-test-notification-status). Nil: nothing is known
    /// of it yet, or no longer.
    package func testNotificationStatus(
        _ token: String, in environment: StoreEnvironment, _ options: CallOptions = CallOptions()
    ) throws(ServerAPIError) -> NotificationHistoryItem? {
        let call = try ServerAPICall(.testNotificationStatus, ["v1", "notifications", "test", token])
        let reader = AnswerReader(self, environment)
        do throws(ServerAPIError) {
            let answer: NotificationAnswer = try reader.read(try send(call, in: environment, options))
            return NotificationHistoryItem(answer, reader)
        } catch {
            guard error.code == .testNotificationNotFound else { throw error }
            return nil
        }
    }
}

extension NotificationHistoryItem {
    fileprivate init(_ answer: NotificationAnswer, _ reader: AnswerReader) {
        self.init(
            signedPayload: answer.signedPayload, data: reader.notification(answer.signedPayload),
            attempts: answer.attempts)
    }
}
