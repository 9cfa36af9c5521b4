/// Decimal identifiers of the lengths Apple uses, never twice within one seed.
///
/// Every life has five hundred of each sort to itself; where they begin depends on the seed, so that plays with
/// different seeds into the same database hardly meet.
struct IdentifierSequence: Sendable {
    private let first: UInt64
    private let isSandbox: Bool
    private var transactions: UInt64 = 0
    private var orderLines: UInt64 = 0

    init(seed: UInt64, life: UInt64, isSandbox: Bool) {
        let start = SeededRandom.mix(seed) % 1_000_000_000
        first = (start &+ life) % 1_000_000_000 &* 1000
        self.isSandbox = isSandbox
    }

    /// 16 digits in the sandbox, 15 in production.
    mutating func transaction() -> String {
        defer { transactions &+= 1 }
        return (isSandbox ? "2000" : "430") + padded(first &+ transactions % 500)
    }

    mutating func orderLine() -> String {
        defer { orderLines &+= 1 }
        return (isSandbox ? "2000" : "430") + padded(first &+ 500 &+ orderLines % 500)
    }

    /// 18 digits; the same for all purchases of one account in one app.
    func account() -> String {
        "704700" + padded(first)
    }

    private func padded(_ number: UInt64) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, 12 - digits.count)) + digits
    }
}
