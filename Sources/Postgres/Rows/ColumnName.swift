/// How a row's column is named: by a literal, which a result searches for once and then finds at once.
package struct ColumnName: Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    enum Form: Sendable {
        case literal(StaticString)
        case text(String)
        case place(Int)
    }

    let form: Form

    package init(stringLiteral name: StaticString) {
        form = .literal(name)
    }

    /// A name that is only known at run time.
    package init(_ name: String) {
        form = .text(name)
    }

    /// The column at a place in the SELECT's list, counted from 0: for tests alone, where the list stands beside it.
    package init(place: Int) {
        form = .place(place)
    }

    package var description: String {
        switch form {
        case .literal(let name): name.description
        case .text(let name): name
        case .place(let place): String(place)
        }
    }
}
