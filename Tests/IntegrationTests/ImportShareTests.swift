import AppStore
import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Foundation
import HTTP
import StoreSimulator
import Subscriptions
import TestSupport
import Testing

/// Imports beside others, and beside accounts that wait for Apple.
@Suite struct ImportShareTests: ImportSuite {
    let scene: ImportScene

    init() throws {
        scene = try ImportScene()
    }

    @Test func `imports of one app have one share of Apple's limit, and less while accounts wait`() throws {
        defer { stop() }
        let client = bench.apple.reader.client
        let connection = try installation.database.connect(role: "entitled_worker")
        func other(_ app: String, rate: Int? = nil) throws {
            let request = ImportRequest(
                app: app, digest: "other", path: "/other.csv", asOf: 0, sendsEvents: false, refusedRows: "/other")
            let job = try JobTable.open(request.request(rate: rate, madeBy: "a test"), on: connection).job
            _ = try #require(try JobLease.take(job.id, driver: [UInt8](repeating: 7, count: 16), on: connection))
        }
        _ = try bench.run(file, steps: 3)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: false))
        _ = try bench.count(file)
        #expect(client.share(in: .production) == .imports(count: 0, accountsWait: false))
        try other("another")
        _ = try bench.run(file, steps: 2)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: false))
        // A rate that an operator names makes neither a share of its own nor a larger one.
        try other("demo", rate: 10)
        #expect(try ImportShare.running("demo", on: connection).count == 1)
        _ = try bench.run(file, steps: 2, rate: 50)
        #expect(client.share(in: .production) == .imports(count: 2, accountsWait: false))
        // A dry run takes what is left beside it.
        _ = try bench.count(file)
        #expect(client.share(in: .production) == .imports(count: 1, accountsWait: true))
        // While this worker has no way to Apple.
        let key = PurchaseKey(app: "demo", environment: .production, originalTransactionID: "2000000000000001")
        let subject = AccountLookTable.Subject(key: key, transactionID: "2000000000000001", account: nil)
        try AccountLookTable.setDue(
            subject, AccountLookTable.Progress(revision: nil, others: []), .restore, now: 1, on: connection)
        _ = try bench.run(file)
        #expect(client.share(in: .production) == .imports(count: 2, accountsWait: true))
    }
}
