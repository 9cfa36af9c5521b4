import Base

/// How one JSON Schema breaks what another allowed (requests), or promised (answers).
///
/// Requests may be allowed more than before, answers may promise more. Both are judged keyword by keyword, which finds
/// a break too many where several keywords say the same in another way, and none too few.
struct SchemaComparison {
    enum Direction {
        case request, answer
    }

    let old: ContractDocument
    let new: ContractDocument
    let direction: Direction

    /// - Parameter place: where in the body, as the lines say it.
    func breaks(_ before: JSON, _ after: JSON, at place: String) -> [String] {
        let (before, after) = (old.resolved(before), new.resolved(after))
        guard alternatives(before) == nil, alternatives(after) == nil else { return choices(before, after, place) }
        let faults = types(before, after) + values(before, after) + bounds(before, after)
        return faults.map { "\(place): \($0)" } + members(before, after, place) + elements(before, after, place)
    }

    // MARK: - Alternatives

    private func alternatives(_ schema: JSON) -> [JSON]? { (schema["anyOf"] ?? schema["oneOf"])?.arrayValue }

    /// Every body that was good must still be, and every answer must still be one that was foreseen.
    private func choices(_ before: JSON, _ after: JSON, _ place: String) -> [String] {
        let (earlier, later) = (alternatives(before) ?? [before], alternatives(after) ?? [after])
        func fits(_ one: JSON, _ other: JSON) -> Bool { breaks(one, other, at: place).isEmpty }
        let isBroken =
            switch direction {
            case .request: earlier.contains { one in !later.contains { fits(one, $0) } }
            case .answer: later.contains { one in !earlier.contains { fits($0, one) } }
            }
        return isBroken ? ["\(place): other alternatives than before"] : []
    }

    // MARK: - Values

    /// Whether what is allowed now (nil: anything) breaks what was.
    private func isBroken<Value: Hashable>(_ before: Set<Value>?, _ after: Set<Value>?) -> Bool {
        let (less, more) = direction == .request ? (before, after) : (after, before)
        guard let more else { return false }
        guard let less else { return true }
        return !less.isSubset(of: more)
    }

    private func types(_ before: JSON, _ after: JSON) -> [String] {
        // Lists of values are compared as such.
        guard list(before) == nil || list(after) == nil else { return [] }
        let (earlier, later) = (types(before), types(after))
        guard isBroken(earlier, later) else { return [] }
        func spoken(_ types: Set<String>?) -> String { types?.sorted().joined(separator: ", ") ?? "anything" }
        return ["was \(spoken(earlier)), is \(spoken(later))"]
    }

    /// Those that a schema allows; nil: any.
    private func types(_ schema: JSON) -> Set<String>? {
        guard let type = schema["type"] else { return list(schema).map { Set($0.map(\.typeName)) } }
        let names = type.arrayValue?.compactMap(\.stringValue) ?? [type.stringValue ?? ""]
        return Set(names.contains("number") ? names + ["integer"] : names)
    }

    /// The values that a schema lists.
    private func list(_ schema: JSON) -> [JSON]? { schema["const"].map { [$0] } ?? schema["enum"]?.arrayValue }

    private func values(_ before: JSON, _ after: JSON) -> [String] {
        let (earlier, later) = (list(before).map { Set($0.map(\.text)) }, list(after).map { Set($0.map(\.text)) })
        if direction == .answer, before["x-may-grow"]?.boolValue == true, later != nil { return [] }
        guard isBroken(earlier, later) else { return [] }
        let changed = (earlier ?? []).symmetricDifference(later ?? []).sorted()
        return ["other values than before: \(changed.joined(separator: ", "))"]
    }

    // MARK: - Bounds

    private static let upper = ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]
    private static let lower = ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]

    private func bounds(_ before: JSON, _ after: JSON) -> [String] {
        func number(_ value: JSON?) -> Double? {
            switch value {
            case .int(let number): Double(number)
            case .double(let number): number
            default: nil
            }
        }
        // The one that must be within the other.
        let (inner, outer) = direction == .request ? (before, after) : (after, before)
        let above = Self.upper.filter { name in
            number(outer[name]).map { (number(inner[name]) ?? .infinity) > $0 } ?? false
        }
        let below = Self.lower.filter { name in
            number(outer[name]).map { (number(inner[name]) ?? -.infinity) < $0 } ?? false
        }
        // Which of two patterns allows more is not asked.
        let forms = ["pattern", "format", "propertyNames", "not"].filter { outer[$0] != nil && outer[$0] != inner[$0] }
        return (above + below + forms).map { "another \($0)" }
    }

    // MARK: - What is inside

    private func members(_ before: JSON, _ after: JSON, _ place: String) -> [String] {
        let (earlier, later) = (before["properties"]?.members ?? [], after["properties"])
        let (needed, neededNow) = (required(before), required(after))
        let known = earlier.flatMap { member -> [String] in
            let here = "\(place).\(member.name)"
            guard let now = later?[member.name] else { return ["\(here): gone"] }
            return breaks(member.value, now, at: here)
        }
        let names = Set(earlier.map(\.name))
        let changed =
            switch direction {
            case .request: neededNow.subtracting(needed).map { "\(place).\($0): needed now" }
            case .answer:
                // Those that are gone altogether were named already.
                needed.subtracting(neededNow).filter { later?[$0] != nil || !names.contains($0) }
                    .map { "\(place).\($0): may be missing now" }
            }
        return known + changed.sorted() + others(before, after, place)
    }

    private func required(_ schema: JSON) -> Set<String> {
        Set((schema["required"]?.arrayValue ?? []).compactMap(\.stringValue))
    }

    /// Members whose names are data, and members that are not named.
    private func others(_ before: JSON, _ after: JSON, _ place: String) -> [String] {
        let (earlier, later) = (before["additionalProperties"], after["additionalProperties"])
        if direction == .request, later?.boolValue == false, earlier?.boolValue != false {
            return ["\(place): takes no other members any more"]
        }
        guard let earlier, earlier.members != nil else { return [] }
        guard let later, later.members != nil else { return ["\(place).*: not said any more"] }
        return breaks(earlier, later, at: "\(place).*")
    }

    private func elements(_ before: JSON, _ after: JSON, _ place: String) -> [String] {
        guard let earlier = before["items"] else { return [] }
        guard let later = after["items"] else { return direction == .answer ? ["\(place)[]: not said any more"] : [] }
        return breaks(earlier, later, at: "\(place)[]")
    }
}

extension JSON {
    /// As JSON Schema calls it.
    fileprivate var typeName: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int: "integer"
        case .double: "number"
        case .string: "string"
        case .array: "array"
        case .object, .raw: "object"
        }
    }
}
