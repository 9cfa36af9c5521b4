import AppStore
import Base
import Crypto
import Daemon
import HTTP
import StoreSimulator
import TestSupport
import Testing

@testable import AppStoreAPI

/// What a client does when Apple's side is not well.
@Suite struct FaultTests {
    private let bench: StoreFixture

    init() throws {
        bench = try StoreFixture()
    }

    private var id: String { bench.subscriber.latest.id }

    @Test(arguments: [StoreFault.Kind.error, .badGateway, .reset])
    func `what is over soon is not noticed`(kind: StoreFault.Kind) throws {
        bench.service.add(StoreFault(kind, times: 3))
        let found = try bench.client().transaction(id, in: .only(.sandbox))
        #expect(found.answer.payload.transactionId == id)
    }

    @Test func `a rate limit is kept to the moment that Apple tells, for the whole group`() throws {
        let client = try bench.client()
        bench.service.add(StoreFault(.rateLimited, times: 1, seconds: 1.5))
        let began = ContinuousClock.now
        _ = try client.transaction(id, in: .only(.sandbox))
        #expect(ContinuousClock.now - began >= .seconds(1.5))
        // Another call of the group finds the bucket closed; one of another group does not.
        bench.service.add(StoreFault(.rateLimited, times: 1, path: "/transactions", seconds: 30))
        func within(_ time: Duration, _ body: (CallOptions) throws -> Void) throws -> ServerAPIError {
            let options = CallOptions(within: time)
            return try failure { try body(options) }
        }
        let first = try within(.seconds(5)) { options in
            _ = try client.transaction(id, in: .only(.sandbox), options)
        }
        #expect(first.code == .rateLimitExceeded)
        let second = try within(.seconds(5)) { options in
            _ = try client.transaction(id, in: .only(.sandbox), options)
        }
        guard case .limited = second else { throw TestFailure("\(second)") }
        #expect(try client.subscriptions(of: id, in: .only(.sandbox)).answer.count == 1)
    }

    @Test func `what does not end is given up, with the last reason`() throws {
        bench.service.add(StoreFault(.error))
        let error = try failure {
            try bench.client(retries: ServerAPIRetryPolicy(base: .milliseconds(1), attempts: 3)).transaction(
                id, in: .only(.sandbox))
        }
        #expect(error.code == .generalInternalRetryable && error.isRetryable)
    }

    @Test func `a refusal is told at once`() throws {
        bench.service.add(StoreFault(.notFound))
        let error = try failure {
            try bench.client().transaction(id, in: .only(.sandbox))
        }
        #expect(error.code == .transactionIDNotFound && !error.isRetryable)
        #expect(bench.metrics.exposition().contains(#"{group="transaction_info",outcome="refused"} 1"#))
    }

    /// The server may have done it: a second one would count against the two of a year.
    @Test(arguments: [StoreFault.Kind.badGateway, .reset, .error])
    func `an extension is not sent again when nobody knows whether it was done`(kind: StoreFault.Kind) throws {
        bench.service.add(StoreFault(kind, times: 1))
        let client = try bench.client()
        let wanted = RenewalExtension(days: 1, reason: .other, requestIdentifier: "r")
        _ = try failure {
            try client.extendRenewal(of: bench.subscriber.latest.originalID, wanted, in: .sandbox)
        }
        #expect(try client.extendRenewal(of: bench.subscriber.latest.originalID, wanted, in: .sandbox).isDone)
        #expect(bench.metrics.exposition().contains(#"{group="extension",outcome="done"} 1"#))
    }

    @Test func `an extension that was turned away is sent again`() throws {
        bench.service.add(StoreFault(.rateLimited, times: 1, seconds: 0.1))
        let wanted = RenewalExtension(days: 1, reason: .other, requestIdentifier: "r")
        #expect(
            try bench.client().extendRenewal(of: bench.subscriber.latest.originalID, wanted, in: .sandbox).isDone)
    }

    @Test func `a slow answer is waited for within the deadline, and no longer`() throws {
        let client = try bench.client()
        bench.service.add(StoreFault(.slow, times: 1, seconds: 0.3))
        _ = try client.transaction(id, in: .only(.sandbox))
        bench.service.add(StoreFault(.slow, times: 1, seconds: 20))
        let began = ContinuousClock.now
        let error = try failure {
            try client.transaction(id, in: .only(.sandbox), CallOptions(within: .milliseconds(400)))
        }
        guard case .unreachable(let text) = error else { throw TestFailure("\(error)") }
        #expect(text.contains("timeout") && ContinuousClock.now - began < .seconds(10))
    }

    @Test(arguments: [StoreFault(.slow, seconds: 30), StoreFault(.rateLimited, seconds: 30), StoreFault(.error)])
    func `a call that waits is cancelled at once`(fault: StoreFault) throws {
        bench.service.add(fault)
        let client = try bench.client(retries: ServerAPIRetryPolicy(base: .seconds(30), longest: .seconds(30)))
        let cancellation = Cancellation()
        let outcome = Monitor<ServerAPIError?>(nil)
        let id = id
        let thread = ServiceThread("cancelled") {
            let options = CallOptions(within: .seconds(300), cancellation: cancellation)
            let error = try? failure {
                try client.transaction(id, in: .only(.sandbox), options)
            }
            outcome.change { $0 = error }
        }
        let calls = bench.metrics
        if fault.kind != .slow {
            try eventually("the first attempt ends") { calls.exposition().contains("transaction_info") }
        }
        cancellation.cancel()
        #expect(thread.join(timeout: .seconds(10)))
        #expect(outcome.read { $0 } == .cancelled)
    }

    @Test func `with faults at random everything comes all the same`() throws {
        for kind in [StoreFault.Kind.error, .badGateway, .reset] {
            bench.service.add(StoreFault(kind, percent: 12))
        }
        bench.service.add(StoreFault(.rateLimited, percent: 10, seconds: 0.02))
        bench.service.add(StoreFault(.slow, percent: 10, seconds: 0.02))
        let client = try bench.client(retries: ServerAPIRetryPolicy(base: .milliseconds(5), attempts: 40))
        for _ in 0..<3 {
            let all = try client.transactions(of: id, in: .only(.sandbox)).answer
            #expect(all.count == 47)
            #expect(try client.refunds(of: bench.refunded.latest.id, in: .only(.sandbox)).answer.count == 25)
            #expect(try client.subscriptions(of: id, in: .only(.sandbox)).answer.count == 1)
        }
    }

    // MARK: - Keys

    @Test func `where the newest key is refused the other serves, and it is told once`() throws {
        let stranger = try ServerAPIKey(
            issuerID: bench.service.token.issuerID, keyID: "NEWESTKEY1", pem: try SigningKey.generate(.p256).pem())
        let client = try bench.client(keys: [stranger, bench.key()])
        for _ in 0..<3 { _ = try client.transaction(id, in: .only(.sandbox)) }
        let told = bench.log.text.split(separator: "\n").filter { $0.contains("newest Server API key rejected") }
        #expect(told.count == 1)
        #expect(told.first?.contains("NEWESTKEY1") == true && told.first?.contains(bench.service.token.keyID) == true)
        #expect(bench.metrics.exposition().contains(#"outcome="unauthorized"} 1"#), "the newest is not tried each time")
    }

    @Test(arguments: ["key", "issuer", "bundle", "signature"])
    func `a 401 is explained`(what: String) throws {
        let token = bench.service.token
        let key = try ServerAPIKey(
            issuerID: what == "issuer" ? "wrong" : token.issuerID, keyID: what == "key" ? "WRONG" : token.keyID,
            pem: try what == "signature" ? SigningKey.generate(.p256).pem() : token.key.pem())
        let client = try bench.client(keys: [key], bundleID: what == "bundle" ? "com.example.other" : nil)
        let error = try failure { try client.transaction(id, in: .only(.sandbox)) }
        guard case .unauthorized(let unauthorized) = error else { throw TestFailure("\(error)") }
        #expect(!unauthorized.isClockWrong && unauthorized.skew != nil)
        #expect("\(error)".contains(key.keyID) && "\(error)".contains("revoked") && !error.isRetryable)
    }

    @Test func `a clock that is wrong is named as the reason of a 401`() throws {
        let late = ManualClock(SystemClock().now() - 3_600_000)
        let error = try failure {
            try bench.client(clock: late).transaction(id, in: .only(.sandbox))
        }
        // The test's clock stands still meanwhile.
        #expect("\(error)".contains(/this host's clock is 3[56]\d\d s behind Apple's/))
    }

    /// Nobody listens there.
    @Test func `a server that cannot be reached is said`() throws {
        let error = try failure {
            try bench.client(
                url: "http://127.0.0.1:1", retries: ServerAPIRetryPolicy(base: .milliseconds(1), attempts: 2)
            )
            .transaction(id, in: .only(.sandbox))
        }
        guard case .unreachable(let text) = error else { throw TestFailure("\(error)") }
        #expect(text.contains("connect"))
    }

    @Test func `a stopped transport cancels`() throws {
        let client = try bench.client()
        bench.service.add(StoreFault(.slow, seconds: 30))
        let thread = ServiceThread("stop") { [bench] in
            _ = try? eventually("a request is under way") { bench.service.callCount > 0 }
            bench.stopClients()
        }
        let error = try failure { try client.transaction(id, in: .only(.sandbox)) }
        #expect(error == .cancelled)
        thread.join()
    }
}
