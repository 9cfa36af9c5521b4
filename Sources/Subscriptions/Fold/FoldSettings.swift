import Base

/// What the configuration adds to facts when they are folded. A change of it changes every fold, also of what was bought
/// before.
package struct FoldSettings: Sendable, Equatable {
    /// ms of grace where Apple says that there is some and gives no end; 0: none.
    package let defaultGrace: Int64
    /// How long access lasts by product, for what does not renew: Apple signs no end of it. Without one it never ends.
    package let durations: [String: ProductDuration]

    package init(defaultGrace: Duration = .zero, durations: [String: ProductDuration] = [:]) {
        self.defaultGrace = defaultGrace.milliseconds
        self.durations = durations
    }

    /// A short text that two settings share only if they are the same.
    package var stamp: String {
        guard !durations.isEmpty else { return "\(defaultGrace)" }
        let spelled = durations.map { "\($0.key)=\($0.value.text)" }.sorted().joined(separator: "\n")
        // FNV-1a: it has to tell apart what an operator writes, not what an adversary does.
        let hash = spelled.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "\(defaultGrace) \(String(hash, radix: 16))"
    }
}

extension FoldSettings {
    /// The transactions with the ends that are configured.
    func ending(_ transactions: [TransactionFact]) -> [TransactionFact] {
        guard !durations.isEmpty else { return transactions }
        return transactions.map { fact in
            guard fact.isBoughtOnce, fact.expiresDate == nil, let duration = durations[fact.productID] else {
                return fact
            }
            var ending = fact
            ending.expiresDate = duration.end(after: fact.purchaseDate, quantity: fact.quantity)
            return ending
        }
    }
}
