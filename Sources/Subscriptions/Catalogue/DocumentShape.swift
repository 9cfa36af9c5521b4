import Base

/// The form of a JSON document as far as its reader insists on it. Members that no shape names are passed over, as decoders
/// do.
package struct DocumentShape: Sendable {
    /// One thing in a document that its reader cannot take.
    package struct Flaw: Sendable, Equatable {
        /// Where: empty, or as in `.config.colors` and `.features[2]`.
        package let place: String
        /// Null where nothing is there.
        package let found: JSON
        package let allowed: String

        package init(place: String, found: JSON, allowed: String) {
            self.place = place
            self.found = found
            self.allowed = allowed
        }
    }

    /// A member of an object.
    struct Member: Sendable {
        let name: String
        let shape: DocumentShape
        let isRequired: Bool

        static func required(_ name: String, _ shape: DocumentShape) -> Member {
            Member(name: name, shape: shape, isRequired: true)
        }

        /// Null counts as missing.
        static func optional(_ name: String, _ shape: DocumentShape) -> Member {
            Member(name: name, shape: shape, isRequired: false)
        }
    }

    let allowed: String
    private let check: @Sendable (JSON, String) -> [Flaw]

    private init(_ allowed: String, check: @escaping @Sendable (JSON, String) -> [Flaw]) {
        self.allowed = allowed
        self.check = check
    }

    /// All that is wrong with a document; empty if nothing is.
    package func flaws(in document: JSON, at place: String = "") -> [Flaw] { check(document, place) }

    // MARK: - Values

    private static func value(_ allowed: String, _ isAllowed: @escaping @Sendable (JSON) -> Bool) -> DocumentShape {
        DocumentShape(allowed) { json, place in
            isAllowed(json) ? [] : [Flaw(place: place, found: json, allowed: allowed)]
        }
    }

    static let null = value("null") { $0 == .null }
    static let text = value("a text") { $0.stringValue != nil }
    static let flag = value("true or false") { $0.boolValue != nil }
    static let integer = value("a whole number") { $0.intValue != nil }
    static let number = value("a number") { json in
        switch json {
        case .int, .double: true
        default: false
        }
    }

    static func text(_ allowed: String, where isAllowed: @escaping @Sendable (String) -> Bool) -> DocumentShape {
        value(allowed) { $0.stringValue.map(isAllowed) ?? false }
    }

    static func word(_ words: String...) -> DocumentShape {
        text("one of: \(words.joined(separator: ", "))") { words.contains($0) }
    }

    /// One of several; what is none of them is judged by the last.
    static func either(_ shapes: DocumentShape...) -> DocumentShape {
        DocumentShape(shapes.map(\.allowed).joined(separator: ", or ")) { json, place in
            let flaws = shapes.map { $0.flaws(in: json, at: place) }
            return flaws.contains { $0.isEmpty } ? [] : flaws.last ?? []
        }
    }

    // MARK: - Compounds

    /// An object with whatever in it.
    package static func object() -> DocumentShape { object([]) }

    static func list(of element: DocumentShape) -> DocumentShape {
        DocumentShape("a list") { json, place in
            guard let elements = json.arrayValue else { return [Flaw(place: place, found: json, allowed: "a list")] }
            return elements.enumerated().flatMap { element.flaws(in: $1, at: "\(place)[\($0)]") }
        }
    }

    /// An object whose names are free.
    static func map(of element: DocumentShape, atLeast count: Int = 0) -> DocumentShape {
        let allowed = count > 0 ? "an object with at least \(count) member" : "an object"
        return DocumentShape(allowed) { json, place in
            guard let members = json.members, members.count >= count else {
                return [Flaw(place: place, found: json, allowed: allowed)]
            }
            return members.flatMap { element.flaws(in: $0.value, at: "\(place).\($0.name)") }
        }
    }

    static func object(_ first: Member, _ others: Member...) -> DocumentShape { object([first] + others) }

    static func object(_ members: [Member]) -> DocumentShape {
        DocumentShape("an object") { json, place in
            guard json.members != nil else { return [Flaw(place: place, found: json, allowed: "an object")] }
            return members.flatMap { member -> [Flaw] in
                let (value, inner) = (json[member.name] ?? .null, "\(place).\(member.name)")
                guard value == .null else { return member.shape.flaws(in: value, at: inner) }
                return member.isRequired ? [Flaw(place: inner, found: .null, allowed: member.shape.allowed)] : []
            }
        }
    }

    /// An object whose member `type` says which shape it has.
    ///
    /// - Parameter other: of all other types; nil: there are none.
    static func byType(_ shapes: [String: DocumentShape], other: DocumentShape? = nil) -> DocumentShape {
        let types = "one of: \(shapes.keys.sorted().joined(separator: ", "))"
        return DocumentShape("an object with a type, \(types)") { json, place in
            guard json.members != nil else { return [Flaw(place: place, found: json, allowed: "an object")] }
            let type = json["type"] ?? .null
            guard let name = type.stringValue, let shape = shapes[name] ?? other else {
                return [Flaw(place: "\(place).type", found: type, allowed: types)]
            }
            return shape.flaws(in: json, at: place)
        }
    }

    /// A shape that is made when it is needed: of something that may lie in itself.
    static func later(_ allowed: String, _ shape: @escaping @Sendable () -> DocumentShape) -> DocumentShape {
        DocumentShape(allowed) { json, place in shape().flaws(in: json, at: place) }
    }

    /// Whatever this shape says, and this rule besides, once nothing else is wrong.
    func and(_ rule: @escaping @Sendable (JSON, String) -> [Flaw]) -> DocumentShape {
        DocumentShape(allowed) { json, place in
            let flaws = check(json, place)
            return flaws.isEmpty ? rule(json, place) : flaws
        }
    }
}
