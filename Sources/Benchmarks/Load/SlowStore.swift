/// Apple's Server API at its worst: every answer takes nine seconds, and knows no transaction.
enum SlowStore {
    static let delay = Duration.seconds(9)
    private static let body = #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#

    static func start() throws -> ConsumerFarm {
        try ConsumerFarm(
            keepsArrivals: false,
            answer: Array(
                "HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                    .utf8)
        ) { _ in delay }
    }
}
