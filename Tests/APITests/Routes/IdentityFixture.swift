import API
import AppStore
import Base
import Crypto
import Database
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport

/// The REST listener with the routes about who is who, and a store whose signatures it takes.
struct IdentityFixture {
    let api: KeyedAPI
    let signer: NotificationSigner
    let restoring: RestoreEligibility

    private static let pki = Result { try StorePKI.generate(now: SystemClock().now()) }

    static let app = AppRegistry.App(
        id: "demo", bundleID: StoreApp().bundleID, appleAppID: StoreApp().appleAppID,
        environments: [.production, .sandbox])

    init(_ settings: RestoreSettings = RestoreSettings(general: .keep)) throws {
        let pki = try IdentityFixture.pki.get()
        signer = NotificationSigner(pki)
        let trust = TrustAnchors(fingerprints: [pki.root.fingerprint()])
        let apps = AppRegistry([IdentityFixture.app])
        restoring = RestoreEligibility(
            apps: apps, verifier: SignedDataVerifier(trust: trust), settings: settings, clock: SystemClock())
        api = try KeyedAPI(trust: trust) {
            $0.apps = apps
            $0.restoring = settings
        }
    }

    func post(
        _ path: String, _ body: KeyValuePairs<String, JSON?> = [:], key: String? = KeyedAPI.publicKey
    ) -> HTTPCall {
        api.call("POST", path, .object(body), key: key)
    }

    /// The customer as a backend sees them.
    func subscriber(_ id: String, key: String = KeyedAPI.secretKey) -> JSON {
        api.call("GET", "/v1/subscribers/\(id)", key: key).json["subscriber"] ?? .null
    }

    /// A purchase in the records, for what looks at its owner alone.
    func own(_ life: SubscriberLife, by id: String) throws {
        let key = PurchaseKey(app: "demo", environment: .sandbox, originalTransactionID: life.latest.originalID)
        let signed = life.latest.payload(signedDate: SystemClock().now()).bytes
        let fact = FactRow(
            kind: .transaction, signedDate: SystemClock().now(), header: nil, signature: nil, payload: signed)
        let post = PurchasePost(by: id, .purchase, behavior: .transfer, at: SystemClock().now())
        try FactTable.insert(
            [fact, FactRow(post)].map { FactTable.New(key: key, seq: 1, fact: $0) },
            on: try api.database.connect(role: "entitled_worker"))
        try api.database.execute(
            """
            INSERT INTO entitled.purchase (lane, app, environment, original_transaction_id, owner, product_id,
                will_renew, version, updated_ms) VALUES ($1, 'demo', 1, $2, $3, 'monthly', true, 1, 1)
            """, [.int2(key.lane.number), .text(key.originalTransactionID), .text(id)])
    }

    func token(_ life: SubscriberLife) throws -> String {
        try signer.sign(life.latest.payload(signedDate: SystemClock().now()))
    }
}
