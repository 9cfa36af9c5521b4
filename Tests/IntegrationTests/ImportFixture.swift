import AppStore
import AppStoreAPI
import Base
import Customers
import Daemon
import Database
import Duties
import Foundation
import Ingest
import Postgres
import Subscriptions
import TestSupport

/// Imports files into an installation, with a played store as Apple.
final class ImportFixture: Sendable {
    let installation: Installation
    let apple: PlayedHistory
    private let folder: String

    init(_ installation: Installation, _ apple: PlayedHistory) throws {
        self.installation = installation
        self.apple = apple
        folder = try TemporaryFolder.make()
    }

    deinit {
        TemporaryFolder.remove(folder)
    }

    var refusedPath: String { "\(folder)/import.csv.refused.csv" }
    var refusedRows: String { (try? String(contentsOfFile: refusedPath, encoding: .utf8)) ?? "" }

    private var actions: CustomerActions {
        CustomerActions(
            origin: ActionTable.Origin(actor: "tester"),
            foldSettings: FoldSettings(defaultGrace: .seconds(3 * 86_400)))
    }

    private func lookup(
        sendsEvents: Bool, roots: TrustAnchors, requestTime: Duration = .seconds(25), rate: Int? = nil
    ) -> ImportLookup {
        ImportLookup(
            client: apple.reader.client,
            admission: TransactionAdmission(
                apps: AppRegistry([Installation.registered]), verifier: installation.verifier,
                dictionaries: HeaderDictionaries()),
            receipts: ReceiptVerifier(trust: roots), sendsEvents: sendsEvents, pace: ImportPace(rate: rate),
            requestTime: requestTime)
    }

    /// - Parameter isPacked: as gzip packs it.
    func file(_ lines: [String], isPacked: Bool = false) throws -> ImportFile {
        let path = "\(folder)/import.csv"
        let text = lines.joined(separator: "\r\n") + "\r\n"
        if (try? String(contentsOfFile: path, encoding: .utf8)) != text {
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        guard isPacked else { return try ImportFile(path) }
        let gzip = Process()
        gzip.executableURL = URL(fileURLWithPath: "/bin/gzip")
        gzip.arguments = ["--keep", "--force", path]
        try gzip.run()
        gzip.waitUntilExit()
        return try ImportFile("\(path).gz")
    }

    /// - Parameters:
    ///   - steps: after so many the process stands still; nil: to the end.
    ///   - requestTime: of one request to Apple.
    ///   - patience: with an Apple that does not answer.
    ///   - rate: that an operator names.
    func run(
        _ lines: [String], sendsEvents: Bool = false, roots: TrustAnchors = TrustAnchors(), steps: Int? = nil,
        remembered: Int = 1000, isPacked: Bool = false, requestTime: Duration = .seconds(25),
        patience: Duration = .seconds(600), rate: Int? = nil
    ) throws -> (job: Job, counts: ImportProgress) {
        let file = try file(lines, isPacked: isPacked)
        let connection = try installation.database.connect(role: "entitled_worker")
        let request = ImportRequest(
            app: "demo", digest: try file.inspect { _ in }, path: file.path, asOf: file.modified,
            sendsEvents: sendsEvents, refusedRows: refusedPath)
        let refusedRows = RefusedRowsFile(
            refusedPath, columns: file.layout.columns, of: try request.former(on: connection))
        try refusedRows.check()
        let settings = ImportWork.Settings(
            file: file, lookup: lookup(sendsEvents: sendsEvents, roots: roots, requestTime: requestTime, rate: rate),
            actions: actions, refusedRows: refusedRows, sendsEvents: sendsEvents, remembered: remembered,
            patience: patience)
        let opened = try JobTable.open(request.request(rate: rate, madeBy: "a test"), on: connection).job
        var done = 0
        let job = try JobDriver(opened.id, kinds: [ImportWork.kind(settings)]).attend(
            on: connection, rest: { _ in Thread.sleep(forTimeInterval: 0.02) }
        ) { _, _ in
            done += 1
            return steps.map { done >= $0 } ?? false
        }
        return (job, ImportProgress(words: job.cursor) ?? ImportProgress())
    }

    func count(_ lines: [String]) throws -> (counts: ImportProgress, reasons: [String]) {
        var reasons: [String] = []
        let counts = try ImportCount.count(
            try file(lines), by: lookup(sendsEvents: false, roots: TrustAnchors()), actions,
            on: try installation.database.connect(role: "entitled_api"), rest: { _ in }, progress: { _, _ in },
            rejected: { reasons.append($1) })
        return (counts, reasons)
    }

    func untilApplied() throws {
        try eventually("everything is applied") {
            try installation.database.count("SELECT count(*) FROM entitled.pending") == 0
        }
    }
}

extension ImportProgress {
    /// Rows, imported, unknown, refused, already, of other stores.
    var numbers: [Int64] { [rows, imported, unknown, refused, already, otherStores] }
}
