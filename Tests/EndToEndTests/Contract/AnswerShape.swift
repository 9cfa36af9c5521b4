import Base

/// Which members documents have, and of which types: every place in them with the types of its values. Members whose
/// names are data stand as `*`.
struct AnswerShape: Equatable {
    /// Places such as `subscriber.subscriptions.*.store`, elements of arrays with `[]`.
    private(set) var types: [String: Set<String>] = [:]
    /// Places of which an object had no such member, although another of the same place had it.
    private(set) var missing: Set<String> = []
    private var objects: [String: Int] = [:]
    private var counts: [String: Int] = [:]

    /// - Parameter maps: places whose members' names are data.
    init(_ documents: [JSON], maps: Set<String>) {
        for document in documents { add(document, "", maps) }
        missing = Set(
            counts.filter { place, count in
                let parent = place.split(separator: ".").dropLast().joined(separator: ".")
                return place.split(separator: ".").last != "*" && count < objects[parent] ?? count
            }.keys)
    }

    private mutating func add(_ value: JSON, _ place: String, _ maps: Set<String>) {
        types[place, default: []].insert(value.kind)
        if let members = value.members {
            objects[place, default: 0] += 1
            for member in members {
                let name = maps.contains(place) ? "*" : member.name
                let inner = place.isEmpty ? name : "\(place).\(name)"
                counts[inner, default: 0] += 1
                add(member.value, inner, maps)
            }
        }
        for element in value.arrayValue ?? [] { add(element, "\(place)[]", maps) }
    }

    /// Where a reader of the other documents would not find what it reads: places that are not here, or not always, and
    /// those of other types than it knows. A null is no type.
    func faults(readBy reader: AnswerShape) -> [String] {
        reader.types.sorted { $0.key < $1.key }.compactMap { place, known in
            guard let own = types[place] else { return "\(place): not there" }
            if missing.contains(place) { return "\(place): not always there" }
            let (meant, found) = (known.subtracting(["null"]), own.subtracting(["null"]))
            guard meant.isEmpty || found.isSubset(of: meant) else {
                return "\(place): \(found.sorted()), not \(meant.sorted())"
            }
            return !meant.isEmpty && found.isEmpty ? "\(place): always null" : nil
        }
    }
}

extension JSON {
    fileprivate var kind: String {
        switch self {
        case .null: "null"
        case .bool: "boolean"
        case .int, .double: "number"
        case .string: "string"
        case .array: "array"
        case .object, .raw: "object"
        }
    }
}
