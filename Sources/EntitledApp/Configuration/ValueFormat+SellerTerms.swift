import Base
import CLI
import Daemon
import Subscriptions

extension ValueFormat where Value == Share {
    /// A part of a price as a number from 0 to 1.
    static var share: ValueFormat<Share> {
        let allowed = "a number from 0 to 1, as in 0.15"
        let schema = JSON.object(["type": .string("number"), "minimum": .int(0), "maximum": .int(1)])
        return ValueFormat(
            allowed: allowed, schema: schema, fromText: { text in Double(text).map { .double($0) } ?? .string(text) },
            write: { .double(Double($0.millionths) / 1_000_000) }
        ) { json, _ in
            let number: Double? =
                switch json {
                case .int(let value): Double(value)
                case .double(let value): value
                default: nil
                }
            guard let number, (0...1).contains(number) else { return .wrong(json, allowed) }
            return .value(Share(millionths: Int64((number * 1_000_000).rounded())))
        }
    }
}

extension ValueFormat where Value == [String: Share] {
    /// Shares by country.
    static var sharesByCountry: ValueFormat<[String: Share]> {
        let shares = ValueFormat<[String: Share]>.map(
            "an object of countries (ISO 3166, two capital letters), each with a number from 0 to 1: { DE: 0.1597 }",
            of: .share)
        return ValueFormat(
            allowed: shares.allowed, schema: shares.schema, fromText: shares.fromText, write: shares.write
        ) { json, surroundings in
            let strangers = (json.members ?? []).filter { !CountryCodes.isAlpha2($0.name) }.map { member in
                ValueReading<[String: Share]>.Flaw(
                    place: "", found: .string(member.name), allowed: shares.allowed)
            }
            return switch shares.read(json, surroundings) {
            case .value(let value): strangers.isEmpty ? .value(value) : .flawed(strangers)
            case .flawed(let flaws): .flawed(strangers + flaws)
            }
        }
    }
}

extension ValueFormat where Value == [SellerTerms.Commission] {
    /// One number, or what counts from each date on.
    static var commission: ValueFormat<[SellerTerms.Commission]> {
        let share = ValueFormat<Share>.share
        let allowed =
            "a number from 0 to 1, or a list of { from: \"2025-01-01\", rate: 0.30, after_a_year: 0.15 }"
        let date = JSON.object(["type": .string("string"), "format": .string("date")])
        let term = JSON.object([
            "type": .string("object"),
            "properties": .object(["from": date, "rate": share.schema, "after_a_year": share.schema]),
            "required": .strings(["rate"]), "additionalProperties": .bool(false),
        ])
        let list = JSON.object(["type": .string("array"), "minItems": .int(1), "items": term])
        return ValueFormat(
            allowed: allowed, schema: .object(["anyOf": .array([share.schema, list])]), fromText: jsonFromText,
            write: { .array($0.map(CommissionReader.write)) }
        ) { json, surroundings in
            guard let elements = json.arrayValue else {
                guard case .value(let rate) = share.read(json, surroundings) else { return .wrong(json, allowed) }
                return .value([SellerTerms.Commission(rate: rate)])
            }
            guard !elements.isEmpty else { return .wrong(json, allowed) }
            var reader = CommissionReader(allowed: allowed, surroundings: surroundings)
            let terms = elements.enumerated().compactMap { reader.term($1, "[\($0)]") }
            return reader.flaws.isEmpty ? .value(terms) : .flawed(reader.flaws)
        }
    }
}

/// Reads the terms of a commission out of a document and collects all that is wrong with them.
private struct CommissionReader {
    let allowed: String
    let surroundings: ConfigurationContext
    private(set) var flaws: [ValueReading<[SellerTerms.Commission]>.Flaw] = []
    private var beginnings: Set<Int64?> = []

    init(allowed: String, surroundings: ConfigurationContext) {
        (self.allowed, self.surroundings) = (allowed, surroundings)
    }

    static func write(_ term: SellerTerms.Commission) -> JSON {
        let share = ValueFormat<Share>.share
        return .object([
            "from": term.from.map { .string(String(Timestamp.text($0).prefix(10))) }, "rate": share.write(term.rate),
            "after_a_year": term.afterAYear.map(share.write),
        ])
    }

    mutating func term(_ json: JSON, _ place: String) -> SellerTerms.Commission? {
        guard let members = json.members else {
            refuse(place, json, allowed)
            return nil
        }
        for member in members where !["from", "rate", "after_a_year"].contains(member.name) {
            refuse("\(place).\(member.name)", .string(member.name), "one of: from, rate, after_a_year")
        }
        let (from, rate) = (date(json["from"], place), share(json["rate"] ?? .null, "\(place).rate"))
        var later: Share?
        if let given = json["after_a_year"], given != .null { later = share(given, "\(place).after_a_year") }
        if let from, !beginnings.insert(from).inserted {
            refuse("\(place).from", json["from"] ?? .null, "each date once, and one element without a date at most")
        }
        guard let from, let rate else { return nil }
        return SellerTerms.Commission(from: from, rate: rate, afterAYear: later)
    }

    /// The beginning of a day in UTC, or nil inside for all time before the others; nil where it is refused.
    private mutating func date(_ json: JSON?, _ place: String) -> Int64?? {
        guard let json, json != .null else { return .some(nil) }
        guard let text = json.stringValue, let instant = Timestamp.parse("\(text)T00:00:00Z"),
            Timestamp.text(instant).hasPrefix("\(text)T")
        else {
            refuse("\(place).from", json, "a date such as \"2025-01-01\"; it begins at 0:00 UTC")
            return nil
        }
        return instant
    }

    private mutating func share(_ json: JSON, _ place: String) -> Share? {
        let format = ValueFormat<Share>.share
        guard case .value(let share) = format.read(json, surroundings) else {
            refuse(place, json, format.allowed)
            return nil
        }
        return share
    }

    private mutating func refuse(_ place: String, _ found: JSON, _ allowed: String) {
        flaws.append(.init(place: Terminal.harmless(place), found: found, allowed: allowed))
    }
}
