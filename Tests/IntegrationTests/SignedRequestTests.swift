import Base
import Database
import Glibc
import HTTP
import Postgres
import StoreSimulator
import TestSupport
import Testing

/// Requests as a worker sends them, checked by code that is not ours.
@Suite struct SignedRequestTests {
    /// A worker with one consumer that has a secret and a key pair.
    private final class Scene {
        let installation: Installation
        let consumer: Consumer
        let worker: RunningWorker
        let connection: PostgresConnection
        let id: String
        let secret: String
        let publicKey: String
        private var life = SubscriberLife(app: Installation.app, seed: 71)
        private var sent = 0

        init(headers: [String] = [], format: EndpointFormat = .revenuecat) throws {
            installation = try Installation()
            consumer = try Consumer()
            connection = try installation.database.connect(role: "entitled_worker")
            let added = try EndpointTable.add(
                url: consumer.url(), authorization: "Bearer consumer", environments: [], events: [], apps: [],
                headers: headers.map { try CustomHeader(parsing: $0) }, format: format, isAsymmetric: true,
                sealer: installation.sealer, now: SystemClock().now(), on: connection)
            id = added.id
            secret = added.secret.text
            publicKey = WebhookPublicKey.text(try #require(added.publicKey))
            worker = try RunningWorker(installation)
        }

        func end() {
            worker.stop()
            consumer.stop()
        }

        /// The request that follows from one more notification.
        func next() throws -> Consumer.Request {
            let at = Installation.start + Int64(sent) * 3_600_000
            let notification =
                sent == 0 ? life.start(at: at) : sent % 2 == 1 ? life.autoRenewOff(at: at) : life.autoRenewOn(at: at)
            guard try installation.post(notification).status == 200 else { throw TestFailure("not taken") }
            sent += 1
            let requests = try consumer.wait(sent)
            return try #require(requests.last)
        }

        /// The next request that carries so many signatures: a worker looks at its endpoints five times a second.
        func next(signatures count: Int) throws -> Consumer.Request {
            var request = try next()
            try eventually("a request has \(count) signatures") {
                if request.headers["webhook-signature"]?.split(separator: " ").count == count { return true }
                request = try next()
                return false
            }
            return request
        }

        func rotate(_ overlap: Duration) throws -> (secret: String, publicKey: String) {
            let rotated = try EndpointSecrets.rotate(
                of: id, overlap: overlap, sealer: installation.sealer, now: SystemClock().now(), on: connection)
            let made = try #require(rotated)
            return (
                made.secret.text,
                WebhookPublicKey.text(try #require(made.publicKey))
            )
        }
    }

    @Test(.enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"))
    func `other people's code finds them good with every live secret, and with no other`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let one = try scene.next()
        let second = try scene.rotate(.seconds(86_400))
        let two = try scene.next(signatures: 4)
        let third = try scene.rotate(.zero)
        let last = try scene.next(signatures: 2)
        let verdicts = try OtherPeoplesChecks.verdicts([
            (one, scene.secret), (one, second.secret), (two, second.secret), (two, scene.secret), (two, third.secret),
            (last, third.secret), (last, second.secret), (last, scene.secret),
        ])
        #expect(verdicts == [true, false, true, true, false, true, false, false].map { [$0, $0, $0] })
    }

    @Test(.enabled(if: PythonChecks.isThere, "\(PythonChecks.absence)"))
    func `other people's code finds a notification good that goes on as it came`() throws {
        let scene = try Scene(format: .raw)
        defer { scene.end() }
        let request = try scene.next()
        #expect(try OtherPeoplesChecks.verdicts([(request, scene.secret)]) == [[true, true, true]])
        #expect(try OtherPeoplesChecks.goodEntries(request, publicKey: scene.publicKey) == [1])
    }

    @Test func `openssl finds ed25519 signatures good with every live public key, and with no other`() throws {
        let scene = try Scene()
        defer { scene.end() }
        let one = try scene.next()
        let second = try scene.rotate(.seconds(86_400))
        let two = try scene.next(signatures: 4)
        let third = try scene.rotate(.zero)
        let last = try scene.next(signatures: 2)
        func good(_ request: Consumer.Request, _ key: String) throws -> [Int] {
            try OtherPeoplesChecks.goodEntries(request, publicKey: key)
        }
        #expect(try good(one, scene.publicKey) == [1] && good(one, second.publicKey) == [])
        // Newest first, after the signatures with secrets.
        #expect(try good(two, second.publicKey) == [2] && good(two, scene.publicKey) == [3])
        #expect(try good(last, third.publicKey) == [1])
        #expect(try good(last, second.publicKey) == [] && good(last, scene.publicKey) == [])
    }

    @Test func `once a rotation is told, no worker signs with the former secret alone, also without the database`()
        throws
    {
        let installation = try Installation()
        let consumer = try Consumer { _, before in before == 0 ? .hold : .status(200) }
        let connection = try installation.database.connect(role: "entitled_worker")
        let added = try EndpointTable.add(
            url: consumer.url(), authorization: nil, environments: [], events: [], apps: [],
            sealer: installation.sealer, now: SystemClock().now(), on: connection)
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        for number in UInt64(0)..<3 {
            var life = SubscriberLife(app: Installation.app, seed: 73, number: number)
            #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        }
        // One is on its way, two wait for their turn in memory.
        _ = try consumer.wait(1)
        try installation.untilApplied(3)
        usleep(500_000)
        worker.brake.close()
        _ = try EndpointSecrets.rotate(
            of: added.id, sealer: installation.sealer, now: SystemClock().now(), on: connection)
        usleep(UInt32(EndpointSecrets.spreading.milliseconds * 1000))
        consumer.release(200)
        usleep(500_000)
        #expect(consumer.requests.count == 1)
        worker.brake.open()
        let requests = try consumer.wait(3)
        for request in requests.dropFirst() {
            #expect(request.headers["webhook-signature"]?.split(separator: " ").count == 2)
        }
    }

    @Test func `headers of its own go with every request`() throws {
        let scene = try Scene(headers: ["X-Tenant: demo", "Cookie: a=b; c=\"d\""])
        defer { scene.end() }
        let request = try scene.next()
        #expect(request.headers["x-tenant"] == "demo" && request.headers["cookie"] == "a=b; c=\"d\"")
        #expect(request.headers["authorization"] == "Bearer consumer")
    }

    @Test func `an endpoint with waits of its own is tried again after those, until they are used up`() throws {
        let installation = try Installation()
        let consumer = try Consumer { _, _ in .status(500) }
        _ = try EndpointTable.add(
            url: consumer.url(), authorization: nil, environments: [], events: [], apps: [],
            retrySchedule: RetrySchedule(waits: [100, 200]), sealer: installation.sealer, now: SystemClock().now(),
            on: try installation.database.connect(role: "entitled_worker"))
        // The configuration's: an hour.
        let worker = try RunningWorker(installation)
        defer { worker.stop(); consumer.stop() }
        var life = SubscriberLife(app: Installation.app, seed: 72)
        #expect(try installation.post(life.start(at: Installation.start)).status == 200)
        try installation.untilDeliveries(1, .dead)
        #expect(consumer.requests.map(\.attempt) == ["1", "2", "3"])
    }
}
