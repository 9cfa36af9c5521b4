import Base
import Daemon
import Subscriptions

extension ValueFormat where Value == [String: ProductDuration] {
    /// Products with their settings, of which there is one: `{ season_pass: { duration: "P3M" } }`.
    static var productDurations: ValueFormat<[String: ProductDuration]> {
        .map("an object of product ids, each with a duration: { season_pass: { duration: \"P3M\" } }", of: .ofProduct)
    }
}

extension ValueFormat where Value == ProductDuration {
    fileprivate static var ofProduct: ValueFormat<ProductDuration> {
        let duration = ValueFormat<ProductDuration>.productDuration
        let allowed = "an object with a duration: { duration: \"P3M\" }"
        let schema = JSON.object([
            "type": .string("object"), "properties": .object(["duration": duration.schema]),
            "required": .strings(["duration"]), "additionalProperties": .bool(false),
        ])
        return ValueFormat(
            allowed: allowed, schema: schema, fromText: jsonFromText,
            write: { .object(["duration": duration.write($0)]) }
        ) { json, surroundings in
            guard let members = json.members, members.map(\.name) == ["duration"] else { return .wrong(json, allowed) }
            return duration.read(members[0].value, surroundings)
        }
    }

    /// Days and shorter times are exact; months are the calendar's.
    private static var productDuration: ValueFormat<ProductDuration> {
        let allowed =
            "a duration such as \"12h\" or \"90d\", or in ISO 8601 one of \"P30D\", \"P2W\", \"P3M\", \"P1Y\", up to 100 years"
        return .text(
            allowed, schema: .textSchema(pattern: "^([0-9]{1,10}(ms|s|m|h|d)|P[0-9]{1,5}[DWMY])$"), write: \.text,
            read: ProductDuration.init(text:))
    }
}
