import Base
import Daemon

extension ValueFormat where Value == [String: Int64] {
    /// Millionths of a US dollar by currency, written as dollars.
    static var dollarRates: ValueFormat<[String: Int64]> {
        let rates = ValueFormat<[String: Int64]>.map(
            "an object of currencies (ISO 4217, three capital letters), each with what a unit is worth in dollars:"
                + " { EUR: 1.08 }", of: .dollars)
        return ValueFormat(allowed: rates.allowed, schema: rates.schema, fromText: rates.fromText, write: rates.write) {
            json, surroundings in
            let isCurrency = { (name: String) in
                name.utf8.count == 3 && name.utf8.allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
            }
            if let member = json.members?.first(where: { !isCurrency($0.name) }) {
                return .wrong(.string(member.name), rates.allowed)
            }
            return rates.read(json, surroundings)
        }
    }
}

extension ValueFormat where Value == Int64 {
    /// Dollars as a number, in millionths afterwards.
    fileprivate static var dollars: ValueFormat<Int64> {
        let most = 1_000_000.0
        let allowed = "a number of dollars above 0, at most 1000000"
        let schema = JSON.object([
            "type": .string("number"), "exclusiveMinimum": .int(0), "maximum": .int(Int64(most)),
        ])
        return ValueFormat(
            allowed: allowed, schema: schema, fromText: { text in Double(text).map { .double($0) } ?? .string(text) },
            write: { .double(Double($0) / 1_000_000) }
        ) { json, _ in
            let dollars: Double? =
                switch json {
                case .int(let value): Double(value)
                case .double(let value): value
                default: nil
                }
            guard let dollars, dollars > 0, dollars <= most,
                let millionths = Int64(exactly: (dollars * 1_000_000).rounded()),
                millionths > 0
            else { return .wrong(json, allowed) }
            return .value(millionths)
        }
    }
}
