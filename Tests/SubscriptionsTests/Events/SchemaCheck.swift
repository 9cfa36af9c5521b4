import Base

/// Checks values against JSON Schemas, as far as the schemas of events go: a keyword that is not known here is a fault.
struct SchemaCheck {
    let schema: JSON

    private static let words: Set = ["$schema", "title", "description"]

    /// What is wrong with the value, each with where; empty if it is valid.
    func faults(_ value: JSON, at path: String = "$") -> [String] {
        (schema.members ?? []).flatMap { member in
            Self.words.contains(member.name) ? [] : faults(member.name, member.value, value, path)
        }
    }

    private func faults(_ keyword: String, _ rule: JSON, _ value: JSON, _ path: String) -> [String] {
        func fault(_ isFault: Bool) -> [String] { isFault ? ["\(path) \(value.text): \(keyword) \(rule.text)"] : [] }
        switch keyword {
        case "const": return fault(rule != value)
        case "enum": return fault(rule.arrayValue?.contains(value) != true)
        case "type":
            let types = rule.arrayValue?.compactMap(\.stringValue) ?? [rule.stringValue ?? ""]
            return fault(!types.contains(where: value.isOf))
        case "pattern":
            guard let text = value.stringValue else { return [] }
            guard let expression = try? Regex(rule.stringValue ?? "(") else { return fault(true) }
            return fault(text.firstMatch(of: expression) == nil)
        case "minLength":
            guard let text = value.stringValue else { return [] }
            return fault(text.unicodeScalars.count < rule.intValue ?? .max)
        case "minItems":
            guard let values = value.arrayValue else { return [] }
            return fault(values.count < rule.intValue ?? .max)
        case "minimum":
            guard let number = value.intValue else { return [] }
            return fault(number < rule.intValue ?? .max)
        case "required":
            guard value.members != nil else { return [] }
            let missing = (rule.arrayValue ?? []).compactMap(\.stringValue).filter { value[$0] == nil }
            return missing.map { "\(path) lacks \($0)" }
        case "properties":
            return (rule.members ?? []).flatMap { member in
                value[member.name].map { SchemaCheck(schema: member.value).faults($0, at: "\(path).\(member.name)") }
                    ?? []
            }
        case "items":
            return (value.arrayValue ?? []).enumerated().flatMap {
                SchemaCheck(schema: rule).faults($1, at: "\(path)[\($0)]")
            }
        default: return ["\(path): the keyword \(keyword) is not known to this check"]
        }
    }
}

extension JSON {
    fileprivate func isOf(_ type: String) -> Bool {
        switch (self, type) {
        case (.null, "null"), (.bool, "boolean"), (.string, "string"), (.array, "array"), (.object, "object"),
            (.int, "integer"), (.int, "number"), (.double, "number"):
            true
        default: false
        }
    }
}
