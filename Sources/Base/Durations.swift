/// Durations as people write them in a configuration: a whole number and a unit, as in `500ms`, `10s`, `5m`, `24h`, `7d`.
extension Duration {
    /// Whole milliseconds; what is smaller is cut off.
    package var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }

    package var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }

    /// Nil unless the text is a whole number, not negative, followed by `ms`, `s`, `m`, `h` or `d`.
    package init?(text: String) {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        guard let amount = Int64(digits), amount <= 1_000_000_000 else { return nil }
        switch text.dropFirst(digits.count) {
        case "ms": self = .milliseconds(amount)
        case "s": self = .seconds(amount)
        case "m": self = .seconds(amount * 60)
        case "h": self = .seconds(amount * 3600)
        case "d": self = .seconds(amount * 86400)
        default: return nil
        }
    }

    /// The shortest spelling that `init(text:)` reads back.
    package var text: String {
        let amount = milliseconds
        for (unit, size) in [("d", Int64(86_400_000)), ("h", 3_600_000), ("m", 60_000), ("s", 1000)]
        where amount != 0 && amount % size == 0 && !(unit == "d" && amount < 7 * size) {
            return "\(amount / size)\(unit)"
        }
        return "\(amount)ms"
    }
}
