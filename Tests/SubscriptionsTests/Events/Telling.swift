import Crypto
import Subscriptions

/// One notification as it reaches the fold: an envelope and the facts in it.
struct Telling {
    var notification: NotificationFact
    /// Nil in a notification about no purchase.
    var transaction: TransactionFact?
    var renewal: RenewalFact?
    /// Whether an app posted the transaction, and Apple sent nothing.
    var isPosted = false

    var signed: Int64 { notification.signedDate }

    func add(to facts: inout PurchaseFacts) {
        if !isPosted { facts.insert(notification) }
        if let transaction { facts.insert(transaction) }
        if let renewal { facts.insert(renewal) }
    }
}

let second: Int64 = 1000
let hour: Int64 = 3600 * second
let day: Int64 = 24 * hour
/// When the lives of the tests begin.
let epoch: Int64 = 1_790_000_000_000

func digest(_ text: String) -> [UInt8] { Digest.sha256(Array(text.utf8)) }

/// Repeatable chance.
struct Chance: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
