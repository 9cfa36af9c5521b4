import FoundationEssentials

/// Something that Apple sends as a JSON object, read tolerantly: what is not known is ignored, and a member of an
/// unexpected type counts as absent. Apple adds members and values without notice.
package protocol WirePayload: Decodable, Sendable {
    /// Throws only if it means nothing without a member that is missing.
    init(_ members: Members) throws
}

extension WirePayload {
    package init(from decoder: any Decoder) throws {
        try self.init(Members(try decoder.container(keyedBy: MemberName.self)))
    }

    /// Reads a JSON object in UTF-8; nil if the bytes are something else, or lack what this payload cannot do without.
    package init?(payload bytes: [UInt8]) {
        if let plain = PlainObject(bytes) {
            guard let value = try? Self(Members(plain)) else { return nil }
            self = value
            return
        }
        guard JSONText.isUTF8Object(bytes), let value = try? JSONDecoder().decode(Self.self, from: Data(bytes)) else {
            return nil
        }
        self = value
    }
}

/// The name of a member.
package struct MemberName: CodingKey, ExpressibleByStringLiteral {
    package let stringValue: String
    package var intValue: Int? { nil }

    package init(stringValue: String) { self.stringValue = stringValue }
    package init(stringLiteral value: String) { stringValue = value }
    package init?(intValue: Int) { nil }
}

/// The members of a JSON object; each is nil if it is absent, null, or of another type than asked for.
package struct Members {
    private enum Source {
        case plain(PlainObject)
        case decoded(KeyedDecodingContainer<MemberName>)
    }

    private let source: Source

    init(_ object: PlainObject) { source = .plain(object) }
    init(_ container: KeyedDecodingContainer<MemberName>) { source = .decoded(container) }

    /// In no order.
    package var names: [String] {
        switch source {
        case .plain(let object): object.names
        case .decoded(let container): container.allKeys.map(\.stringValue)
        }
    }

    /// The names of those that this version does not read, in order and with spaces between them; nil: there are none.
    package func others(than known: Set<String>) -> String? {
        let others = names.filter { !known.contains($0) }
        return others.isEmpty ? nil : others.sorted().joined(separator: " ")
    }

    /// Whether it is there and not null; what reads as nil then is of another type than asked for.
    package func isThere(_ name: MemberName) -> Bool {
        switch source {
        case .plain(let object): object.isThere(name.stringValue)
        case .decoded(let container): container.contains(name) && (try? container.decodeNil(forKey: name)) != true
        }
    }

    package func text(_ name: MemberName) -> String? {
        switch source {
        case .plain(let object): object.text(name.stringValue)
        case .decoded(let container): try? container.decodeIfPresent(String.self, forKey: name)
        }
    }

    package func texts(_ name: MemberName) -> [String]? {
        switch source {
        case .plain(let object): object.texts(name.stringValue)
        case .decoded(let container): try? container.decodeIfPresent([String].self, forKey: name)
        }
    }

    package func flag(_ name: MemberName) -> Bool? {
        switch source {
        case .plain(let object): object.flag(name.stringValue)
        case .decoded(let container): try? container.decodeIfPresent(Bool.self, forKey: name)
        }
    }

    /// A whole number; a fraction is cut off, as dates of test environments have them.
    package func integer(_ name: MemberName) -> Int64? {
        switch source {
        case .plain(let object): object.integer(name.stringValue)
        case .decoded(let container): Members.integer(name, in: container)
        }
    }

    private static func integer(_ name: MemberName, in container: KeyedDecodingContainer<MemberName>) -> Int64? {
        guard container.contains(name) else { return nil }
        if let value = try? container.decode(Int64.self, forKey: name) {
            return value
        }
        guard let value = try? container.decode(Double.self, forKey: name) else { return nil }
        return Int64(exactly: value.rounded(.towardZero))
    }

    package func object<Value: WirePayload>(_ name: MemberName) -> Value? {
        switch source {
        case .plain(let object): object.object(name.stringValue).flatMap { try? Value(Members($0)) }
        case .decoded(let container): try? container.decodeIfPresent(Value.self, forKey: name)
        }
    }

    /// A list of objects; nil too if one of them is none.
    package func objects<Value: WirePayload>(_ name: MemberName) -> [Value]? {
        switch source {
        case .plain(let object): try? object.objects(name.stringValue)?.map { try Value(Members($0)) }
        case .decoded(let container): try? container.decodeIfPresent([Value].self, forKey: name)
        }
    }
}
