extension JSON {
    /// The same value with the members of every object in the order of their names' UTF-8 bytes.
    package var sortedByName: JSON {
        switch self {
        case .object(let members):
            .object(
                members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }.map {
                    Member(name: $0.name, value: $0.value.sortedByName)
                })
        case .array(let values): .array(values.map(\.sortedByName))
        default: self
        }
    }
}
