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

/// An installation that files are imported into, with a worker, a consumer, and an Apple that knows four subscribers.
struct ImportScene {
    static let day = StoreProduct.day
    private static let header = "app_user_id,original_transaction_id,aliases,first_seen,attributes.team"

    /// Subscribers of four periods, the last of which is running.
    static func lives(_ count: UInt64, withToken: Bool = false) -> [SubscriberLife] {
        let now = SystemClock().now()
        return (0..<count).map { number in
            var life = SubscriberLife(app: Installation.app, seed: 1300, number: number, withToken: withToken)
            _ = life.start(lasts: 5 * day, at: now - 18 * day)
            for period: Int64 in 1...3 { _ = life.renew(at: now - (18 - 5 * period) * day) }
            return life
        }
    }

    let installation: Installation
    let worker: RunningWorker
    let consumer: Consumer
    let lives: [SubscriberLife]
    let bench: ImportFixture

    init() throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        consumer = try Consumer()
        _ = try installation.addEndpoint(consumer)
        lives = Self.lives(4)
        bench = try ImportFixture(
            installation, try PlayedHistory(installation, lives.flatMap(\.notifications)))
    }

    /// Each of the four with a user, an alias and an attribute of their own.
    var file: [String] {
        [Self.header]
            + lives.enumerated().map { number, life in
                "user-\(number),\(life.latest.originalID),\"$RCAnonymousID:a\(number)\",2023-01-0\(number + 1),t\(number)"
            }
    }
}

/// A suite of imports.
protocol ImportSuite {
    var scene: ImportScene { get }
}

extension ImportSuite {
    var installation: Installation { scene.installation }
    var consumer: Consumer { scene.consumer }
    var lives: [SubscriberLife] { scene.lives }
    var bench: ImportFixture { scene.bench }
    var file: [String] { scene.file }

    func stop() {
        scene.worker.stop()
        scene.consumer.stop()
    }

    func owner(of life: SubscriberLife) throws -> String? {
        try installation.database.texts(
            "SELECT owner FROM entitled.purchase WHERE original_transaction_id = '\(life.latest.originalID)'"
        ).first
    }

    /// Rows of what an import may write, jobs last.
    func tables() throws -> [Int64] {
        try ["action", "fact", "notification", "customer", "customer_attribute", "job"].map {
            try installation.database.count("SELECT count(*) FROM entitled.\($0)")
        }
    }
}
