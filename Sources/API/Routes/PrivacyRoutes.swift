import Base
import Customers
import Database
import HTTP

/// Everything that is stored about a customer, for backends.
package struct PrivacyRoutes: Sendable {
    /// Bytes of an answer, which is held in memory.
    package static let limit = 16 << 20
    private let limit: Int
    private let clock: any WallClock

    package init(limit: Int = PrivacyRoutes.limit, clock: any WallClock) {
        self.limit = limit
        self.clock = clock
    }

    private struct TooLarge: Error {}

    package var routes: [APIRoute] {
        [
            APIRoute("GET", "/v1/subscribers/{app_user_id}/export", .secretKey(.read)) { call in
                let resolved = try CustomerQuery.resolve(try call.appUserID(), on: call.connection)
                var body: [UInt8] = []
                do {
                    // As for all routes: the id as it is, or a UUID in another case.
                    guard let id = resolved.appUserID, resolved.match == .exact || resolved.match == .uuid,
                        try CustomerExport().write(
                            of: id, now: clock.now(), on: call.connection,
                            to: { bytes in
                                guard body.count + bytes.count <= limit else { throw TooLarge() }
                                body += bytes
                            })
                    else { throw APIError.notFound("No customer has this id.") }
                } catch is TooLarge {
                    throw APIError(
                        413, code: APIError.badRequestCode,
                        "The data of this customer is too large for a response (\(limit) bytes): use `entitled"
                            + " customers export ID --output FILE`.")
                }
                return .response(
                    HTTPResponse(
                        status: 200, headers: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
                        body: body))
            }
        ]
    }
}
