import AppStoreAPI
import Base
import Database
import Glibc
import Ingest
import Postgres
import Subscriptions

/// The same question as a command on the host asks it: at once, and without an entry in the audit.
package struct HostInquiry {
    private let look: InquiryLook
    private var writer: InquiryWriter

    /// - Parameter lookups: by app.
    package init(
        lookups: [String: AccountLookup], clock: any WallClock = SystemClock(),
        cancellation: Cancellation = Cancellation()
    ) {
        look = InquiryLook(lookups, cancellation)
        writer = InquiryWriter(clock: clock)
    }

    /// Asks how a purchase stands.
    ///
    /// - Parameter connection: of the worker's role.
    package mutating func poll(_ purchase: PurchaseKey, on connection: PostgresConnection) throws -> ChangeEnding {
        try answer(to: .purchase(purchase), on: connection)
    }

    /// Asks of which purchases an order is, one of any of the apps.
    ///
    /// - Parameter connection: of the worker's role.
    package mutating func find(_ order: OrderID, on connection: PostgresConnection) throws -> ChangeEnding {
        try answer(to: .order(order.text, apps: look.apps.filter(look.hasOrders)), on: connection)
    }

    private mutating func answer(to inquiry: Inquiry, on connection: PostgresConnection) throws -> ChangeEnding {
        var (progress, failures) = (InquiryProgress(), Int64(0))
        while true {
            let answer = look.ask(inquiry, progress, failures: failures)
            var news = InquiryProgress.News()
            for part in try InquiryWriter.parts(of: answer, on: connection) {
                let written = try connection.transaction {
                    try InquiryWriter.isThere(inquiry, on: connection) ? writer.write(part, on: connection) : nil
                }
                guard let written else { return .refused("The purchase was erased while Apple answered.") }
                news = news + written
            }
            var reached = answer.progress
            reached.news = progress.news + news
            switch InquiryCourse(answer, inquiry, reached, failures: failures) {
            case .over(let ending): return ending
            case .goOn(let next, let wait, let count):
                (progress, failures) = (next, count)
                usleep(UInt32(clamping: wait * 1000))
            }
        }
    }
}
