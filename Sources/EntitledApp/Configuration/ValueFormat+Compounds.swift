import Base
import Daemon

extension ValueFormat {
    /// The value, or nil for `null` and for what is not there.
    static func optional<Wrapped>(_ format: ValueFormat<Wrapped>) -> ValueFormat<Wrapped?> where Value == Wrapped? {
        ValueFormat<Wrapped?>(
            allowed: format.allowed,
            schema: .object(["anyOf": .array([format.schema, .object(["type": .string("null")])])]),
            fromText: format.fromText,
            write: { $0.map(format.write) ?? .null }
        ) { json, surroundings in
            if json == .null { return .value(nil) }
            return switch format.read(json, surroundings) {
            case .value(let value): .value(value)
            case .flawed(let flaws): .flawed(flaws.map { .init($0) })
            }
        }
    }

    /// A list; in an environment variable JSON, or its elements with commas between them.
    static func list<Element>(of element: ValueFormat<Element>, _ count: ClosedRange<Int> = 0...1000) -> ValueFormat<
        [Element]
    >
    where Value == [Element] {
        let least = count.lowerBound > 0 ? "at least \(count.lowerBound), " : ""
        let allowed = "a list (\(least)at most \(count.upperBound)) of: \(element.allowed)"
        let schema = JSON.object([
            "type": .string("array"), "items": element.schema,
            "minItems": least.isEmpty ? nil : .int(Int64(count.lowerBound)),
            "maxItems": .int(Int64(count.upperBound)),
        ])
        return ValueFormat<[Element]>(
            allowed: allowed, schema: schema, fromText: listFromText,
            write: { .array($0.map(element.write)) }
        ) { json, surroundings in
            guard let elements = json.arrayValue, count.contains(elements.count) else { return .wrong(json, allowed) }
            return elements.enumerated().reduce(into: .value([])) { result, next in
                result.add(element.read(next.element, surroundings), at: "[\(next.offset)]") { $0.append($1) }
            }
        }
    }

    /// An object whose names are free.
    static func map<Element>(_ allowed: String, of element: ValueFormat<Element>) -> ValueFormat<[String: Element]>
    where Value == [String: Element] {
        ValueFormat<[String: Element]>(
            allowed: allowed, schema: .object(["type": .string("object"), "additionalProperties": element.schema]),
            fromText: jsonFromText,
            write: { map in
                .object(map.sorted { $0.key < $1.key }.map { .init(name: $0.key, value: element.write($0.value)) })
            }
        ) { json, surroundings in
            guard let members = json.members else { return .wrong(json, allowed) }
            return members.reduce(into: .value([:])) { result, member in
                guard !member.name.isEmpty else {
                    result.add(ValueReading<Element>.wrong(.string(""), "names that are not empty"), at: "") { _, _ in }
                    return
                }
                result.add(element.read(member.value, surroundings), at: ".\(member.name)") { $0[member.name] = $1 }
            }
        }
    }
}

extension ValueFormat where Value == Configuration.SandboxAccess {
    static var sandboxAccess: ValueFormat<Configuration.SandboxAccess> {
        let ids = ValueFormat<[String]>.list(of: .name("an app user id"))
        let words = JSON.object(["type": .string("string"), "enum": .strings(["all", "none"])])
        let allowed = "\"all\", \"none\" or a list of app user ids"
        return ValueFormat(
            allowed: allowed, schema: .object(["anyOf": .array([words, ids.schema])]),
            fromText: { ["all", "none"].contains($0) ? .string($0) : ids.fromText($0) },
            write: { access in
                switch access {
                case .all: .string("all")
                case .none: .string("none")
                case .customers(let ids): .strings(ids)
                }
            }
        ) { json, surroundings in
            switch json {
            case .string("all"): return .value(.all)
            case .string("none"): return .value(.none)
            case .array:
                return switch ids.read(json, surroundings) {
                case .value(let ids): .value(.customers(ids))
                case .flawed(let flaws): .flawed(flaws.map { .init($0) })
                }
            default: return .wrong(json, allowed)
            }
        }
    }
}

extension ValueReading {
    /// Takes a part in, or what is wrong with it.
    fileprivate mutating func add<Part>(
        _ part: ValueReading<Part>, at place: String, _ take: (inout Value, Part) -> Void
    ) {
        switch (self, part) {
        case (.value(var whole), .value(let part)):
            take(&whole, part)
            self = .value(whole)
        case (.value, .flawed(let flaws)):
            self = .flawed(flaws.map { Flaw($0, inside: place) })
        case (.flawed(let known), .flawed(let flaws)):
            self = .flawed(known + flaws.map { Flaw($0, inside: place) })
        case (.flawed, .value):
            break
        }
    }
}

extension ValueReading.Flaw {
    /// The flaw of a part as the flaw of the whole.
    fileprivate init<Part>(_ flaw: ValueReading<Part>.Flaw, inside place: String = "") {
        self.init(place: place + flaw.place, found: flaw.found, reason: flaw.reason, allowed: flaw.allowed)
    }
}

/// JSON where the text is a JSON list, else its parts between commas or line ends.
private let listFromText: @Sendable (String) -> JSON = { text in
    if text.hasPrefix("[") { return jsonFromText(text) }
    return .strings(
        text.split { $0 == "," || $0.isNewline }.map { String($0).trimmed }.filter { !$0.isEmpty })
}

/// The JSON5 value, or the text itself where it is none: then its format says what is allowed.
let jsonFromText: @Sendable (String) -> JSON = { text in
    (try? JSON(parsing: Array(text.utf8), json5: true)) ?? .string(text)
}

extension String {
    /// Without white space at either end.
    var trimmed: String {
        guard let first = firstIndex(where: { !$0.isWhitespace }), let last = lastIndex(where: { !$0.isWhitespace })
        else {
            return ""
        }
        return String(self[first...last])
    }
}
