import Base
import Daemon
import StoreSimulator
import Synchronization

/// An app's public key in the wrong hands, from one address: connections that send what costs the most, without a pause.
final class Attack: Sendable {
    /// Where it comes from, as a proxy on this host tells it.
    private static let source = "203.0.113.7"

    private let isEnding = Atomic<Bool>(false)
    private let answers = Monitor<[Int: Int]>([:])
    private let threads = Monitor<[ServiceThread]>([])

    /// - Parameters:
    ///   - rate: requests of each kind in a second; 0: as fast as the answers come.
    ///   - kinds: each on its share of the connections.
    init(_ kinds: [MemoryRequests], connections: Int, address: String, rate: Double = 0) {
        let share = max(1, connections / max(1, kinds.count))
        let made = kinds.enumerated().map { place, requests in
            ServiceThread("attack-\(place)") { [self] in run(requests, share, address, rate) }
        }
        threads.change { $0 = made }
    }

    private func run(_ requests: MemoryRequests, _ connections: Int, _ address: String, _ rate: Double) {
        while !isEnding.load(ordering: .relaxed) {
            var load = LoadGenerator(requests: requests, address: address, connections: connections)
            load.rate = rate
            load.answered = { [self] _, status, _ in answers.change { $0[status, default: 0] += 1 } }
            load.isStopped = { [self] in isEnding.load(ordering: .relaxed) }
            // Connections that are closed are opened again.
            _ = try? load.run(0..<1_000_000_000)
        }
    }

    /// How many answers there were by their status.
    func end() -> [Int: Int] {
        isEnding.store(true, ordering: .relaxed)
        for thread in threads.read({ $0 }) { thread.join() }
        return answers.read { $0 }
    }
}

extension Attack {
    /// Transactions of one Apple account with many purchases, to be told first, and what is posted of them.
    struct Account {
        let told: [StoreNotification]
        let requests: MemoryRequests

        /// One transaction is posted for two customers in turn: each time all of the account would move.
        init(purchases: Int, seed: UInt64, signer: NotificationSigner, key: String, now: Int64) throws {
            var told: [StoreNotification] = []
            var account: StoreAccount?
            var posted: JSON?
            // A life has ids for 500.
            for start in stride(from: 0, to: purchases, by: 400) {
                var life = SubscriberLife(seed: seed, number: UInt64(start / 400))
                life.account = account ?? life.account
                account = life.account
                for place in 0..<min(400, purchases - start) {
                    told.append(life.buyOnce(at: now - 86_400_000 + Int64(start + place) * 1000))
                }
                posted = life.transaction(.oneTime(0)).payload(signedDate: now)
            }
            let transaction = try signer.sign(posted ?? .null)
            self.told = told
            requests = MemoryRequests(
                ["pp0", "pp1"].map { customer in
                    MemoryRequests.Request(
                        bytes: ReceiptRequests.receipt(transaction, for: customer, key: key, from: Attack.source))
                })
        }
    }

    /// Transactions that Apple does not know, each of which it has to be asked about.
    static func lookUps(_ count: Int, key: String) -> MemoryRequests {
        MemoryRequests(
            (0..<count).map { _ in
                let id = "2000" + String(UInt64.random(in: 100_000_000_000...999_999_999_999))
                return MemoryRequests.Request(bytes: ReceiptRequests.lookUp(id, key: key, from: source))
            })
    }
}
