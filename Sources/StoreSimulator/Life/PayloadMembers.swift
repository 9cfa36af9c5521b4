import Base

/// The members of a payload in the order in which they are added; what is nil is left out.
struct PayloadMembers {
    private(set) var members: [JSON.Member] = []

    var json: JSON { .object(members) }

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

    mutating func append(_ more: [JSON.Member]) {
        members += more
    }
}
