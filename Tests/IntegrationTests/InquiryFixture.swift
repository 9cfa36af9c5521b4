import AppStoreAPI
import Base
import Crypto
import Customers
import Daemon
import Database
import Duties
import Ingest
import Postgres
import StoreSimulator
import Subscriptions
import TestSupport

/// An installation that was told a part of what Apple knows, operators who ask for the rest, and workers who ask Apple.
final class InquiryFixture: Sendable {
    let installation: Installation
    let worker: RunningWorker
    let apple: PlayedHistory
    let log = LogTape()
    private let counter = Monitor(0)

    /// - Parameters:
    ///   - known: what Apple knows; nil: what was told.
    init(told: [StoreNotification], apple known: [StoreNotification]? = nil, faults: [StoreFault] = []) throws {
        installation = try Installation()
        worker = try RunningWorker(installation)
        apple = try PlayedHistory(installation, known ?? told, faults: faults)
        try worker.log.wait(for: "lanes gained")
        try installation.postAll(told)
        try installation.untilApplied(Int64(told.count))
        let connection = try operating()
        for role in OperatorRole.allCases { _ = try ConsoleUserTable.add(role.rawValue, role, now: 1, on: connection) }
    }

    deinit { worker.stop() }

    func operating() throws -> PostgresConnection { try installation.database.connect(role: "entitled_worker") }
    func console() throws -> PostgresConnection { try installation.database.connect(role: "entitled_console") }

    // MARK: - Operators

    static let place = JSON.object(["app": .string("demo"), "environment": .string("Production")])

    /// The number of the job.
    func ask(
        _ kind: ChangeKind, _ target: String, _ parameters: JSON = InquiryFixture.place, as user: String = "support",
        on connection: PostgresConnection? = nil
    ) throws -> Int64 {
        let number = counter.change { count in
            count += 1
            return count
        }
        let origin = ChangeOrigin(
            user: user, credential: .session("cs_1"), address: "203.0.113.7", userAgent: "test")
        let request = ChangeTable.Request(
            kind, target, parameters: parameters, reason: "ticket 77", by: origin, idempotencyKey: "k\(number)",
            fingerprint: Digest.sha256(Array("\(number)".utf8)))
        guard case .asked(let id) = try ChangeTable.ask(request, on: connection ?? console()) else {
            throw TestFailure("it was asked for before")
        }
        return id
    }

    func poll(_ id: String) throws -> Int64 { try ask(.statusPoll, id) }

    func change(_ id: Int64) throws -> Change {
        guard let change = try ChangeTable.find(id, on: console()) else { throw TestFailure("no change \(id)") }
        return change
    }

    /// What came of a change that is over, as a sentence.
    func sentence(_ id: Int64) throws -> String {
        let change = try change(id)
        let outcome = try change.outcome.map { try JSON(parsing: Array($0.utf8)) }
        return outcome?["answer"]?.stringValue ?? change.error ?? change.state.rawValue
    }

    // MARK: - Workers

    func lookup(_ apple: PlayedHistory, mostTransactions: Int = InquiryDuty.mostTransactions) -> AccountLookup {
        AccountLookup(
            client: apple.reader.client,
            admission: TransactionAdmission(
                apps: AppRegistry([Installation.registered]), verifier: installation.verifier,
                dictionaries: HeaderDictionaries()), mostTransactions: mostTransactions)
    }

    func duty(
        mostTransactions: Int = InquiryDuty.mostTransactions, others: [String: PlayedHistory] = [:],
        cancellation: Cancellation = Cancellation()
    ) -> InquiryDuty {
        var lookups = ["demo": lookup(apple, mostTransactions: mostTransactions)]
        for (app, apple) in others { lookups[app] = lookup(apple) }
        return InquiryDuty(lookups: lookups, cancellation: cancellation, logger: log.logger)
    }

    /// One run of a worker that is killed then: nothing of it goes on.
    func run(_ duty: InquiryDuty? = nil, isDraining: @escaping @Sendable () -> Bool = { false }) throws {
        var duty = duty ?? self.duty()
        _ = try duty.run(
            DutyRun(
                session: PostgresSession(installation.database.target(role: "entitled_worker")),
                leadership: Leadership(worker: SecureRandom.bytes(16), lease: .seconds(10)), isDraining: isDraining))
    }

    /// Runs until no question is left; what waits is asked at once.
    func runAll(_ duty: InquiryDuty? = nil) throws {
        var left: Int64 = 1
        for _ in 0..<200 where left > 0 {
            try hurry()
            try run(duty)
            left = try installation.database.count("SELECT count(*) FROM entitled.job WHERE state = 'running'")
        }
        guard left == 0 else { throw TestFailure("\(left) questions are left") }
    }

    /// The time of every question has come, and a worker that held one is dead.
    func hurry() throws {
        try installation.database.execute(
            "UPDATE entitled.job SET lease_until = now() - interval '1 s' WHERE state = 'running'")
    }

    /// Deletes a customer, and whatever names them.
    func delete(_ customer: String, _ policy: DeletionPolicy) throws {
        let connection = try operating()
        let actions = CustomerActions(origin: ActionTable.Origin(actor: "tester"), foldSettings: FoldSettings())
        let deletion = try actions.delete(customer, policy: policy, on: connection)
        let erasure = CustomerErasure(foldSettings: FoldSettings(), patience: .zero)
        while try erasure.step(deletion.id, on: connection) == .more {}
    }

    var notifications: Int64 {
        get throws { try installation.database.count("SELECT count(*) FROM entitled.notification") }
    }
    var audit: [String] {
        get throws {
            try installation.database.texts(
                "SELECT concat_ws(' ', actor, kind, outcome) FROM entitled.audit ORDER BY id")
        }
    }
}
