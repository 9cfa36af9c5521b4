import Base

/// The members of a payload in the order in which they are added; what is nil is left out.
struct PayloadMembers {
    private(set) var members: [JSON.Member] = []

    var json: JSON { .object(members) }

    init() {}

    /// Those of an object; none of anything else.
    init(_ json: JSON) {
        members = json.members ?? []
    }

    mutating func text(_ name: String, _ value: String?) {
        if let value { members.append(.init(name: name, value: .string(value))) }
    }

    mutating func integer(_ name: String, _ value: Int64?) {
        if let value { members.append(.init(name: name, value: .int(value))) }
    }

    mutating func flag(_ name: String, _ value: Bool?) {
        if let value { members.append(.init(name: name, value: .bool(value))) }
    }

    mutating func add(_ name: String, _ value: JSON?) {
        if let value { members.append(.init(name: name, value: value)) }
    }

    /// In its place if it is there, else at the end; nil takes it away.
    mutating func set(_ name: String, _ value: JSON?) {
        guard let index = members.firstIndex(where: { $0.name == name }) else {
            add(name, value)
            return
        }
        if let value { members[index] = .init(name: name, value: value) } else { members.remove(at: index) }
    }

    mutating func append(_ more: [JSON.Member]) {
        members += more
    }
}
