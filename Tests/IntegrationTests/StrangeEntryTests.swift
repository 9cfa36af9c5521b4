import Base
import Database
import Ingest
import StoreSimulator
import TestSupport
import Testing

/// Whoever gets hold of the store's endpoint may add notifications, and still makes nobody a purchase.
@Suite struct StrangeEntryTests {
    /// Apple signed it for an app of theirs, and it goes in as one of ours.
    @Test(arguments: [true, false])
    func `what Apple signed for another app is held, whatever it was stored as`(asPost: Bool) throws {
        let installation = try Installation()
        let worker = try RunningWorker(installation)
        defer { worker.stop() }
        let theirs = StoreApp(bundleID: "com.example.stranger", environment: "Production")
        let registry = AppRegistry([
            AppRegistry.App(
                id: "demo", bundleID: theirs.bundleID, appleAppID: theirs.appleAppID, environments: [.production])
        ])
        var life = SubscriberLife(app: theirs, seed: 77, withToken: false)
        let started = life.start(at: Installation.start)
        let entry: NewNotification
        if asPost {
            let admission = TransactionAdmission(
                apps: registry, verifier: installation.verifier, dictionaries: HeaderDictionaries())
            entry = try #require(try admission.admit(try PostingFixture.jws(started), of: nil).get().entry)
        } else {
            let admission = NotificationAdmission(
                apps: registry, verifier: installation.verifier, dictionaries: HeaderDictionaries())
            let body = try JSON(parsing: try Installation.signer.sign(started).body)
            let jws = try #require(body["signedPayload"]?.stringValue)
            entry = try admission.admit(Array(jws.utf8), from: .store).get()
        }
        var inserter = NotificationInserter(
            sequence: SequenceGenerator(clock: SystemClock(), node: 1), clock: SystemClock())
        _ = try inserter.insert([entry], on: try installation.database.connect(role: "entitled_ingest"))
        try eventually("it is held") { try !installation.heldReasons().isEmpty }
        #expect(try installation.heldReasons() == ["it is of another app than its entry"])
        #expect(try installation.database.count("SELECT count(*) FROM entitled.purchase") == 0)
    }
}
