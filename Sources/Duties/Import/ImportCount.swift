import AppStoreAPI
import Base
import Customers
import Database
import Postgres
import Subscriptions

/// Counts what an import would do. Apple is asked, and nothing is written.
package enum ImportCount {
    /// - Parameters:
    ///   - rest: waits.
    ///   - progress: gets the count so far, and its part of the file, from 0 to 1.
    ///   - rejected: gets each row that needs a person.
    /// - Throws: `ServerAPIError` where Apple cannot be asked for a while.
    package static func count(
        _ file: ImportFile, by lookup: ImportLookup, _ actions: CustomerActions, patience: Duration = .seconds(60),
        on connection: PostgresConnection, rest: (Duration) -> Void,
        progress: (ImportProgress, Double) -> Void, rejected: (_ line: Int64, _ reason: String) -> Void
    ) throws -> ImportProgress {
        var count = ImportProgress()
        var queue = try ImportQueue(file, lookup, actions, from: count.position, asOf: file.modified)
        var share = ImportShare(lookup.client)
        var troubleSince: ContinuousClock.Instant?
        while true {
            try share.renew(isJob: false, on: connection)
            try queue.fill(on: connection)
            guard !queue.items.isEmpty else { return count }
            do throws(ServerAPIError) {
                try queue.ask()
            } catch {
                let since = troubleSince ?? .now
                troubleSince = since
                guard error.isRetryable, ContinuousClock.now - since < patience else { throw error }
                rest(.seconds(1))
                continue
            }
            troubleSince = nil
            var done = queue.idle
            var isNew = false
            var leftOut: [AttributePolicy.Fault] = []
            if done.isEmpty, let first = queue.items.first, case .bringIn(let row, let purchases) = first.task {
                if let why = try actions.importObjection(row.customer, purchases, on: connection) {
                    queue.refuseFirst("\(why)")
                    continue
                }
                isNew = !purchases.isEmpty
                leftOut = CustomerActions.unusableAttributes(of: row.customer, now: file.modified)
                done = queue.items.prefix(1)
            }
            for row in queue.count(done, isNew: isNew, leftOut: leftOut, into: &count) {
                rejected(row.line, row.reason)
            }
            queue.remove(done)
            progress(count, file.share(count.position.offset))
        }
    }
}
