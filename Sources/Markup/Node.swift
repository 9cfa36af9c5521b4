/// A part of a page: text, an element, or several of them one after the other.
///
/// Only `HTMLRenderer` turns a node into bytes, and it escapes every text and every value. There is no node of raw HTML.
package enum Node: Sendable, Equatable {
    case text(String)
    case element(Element)
    case group([Node])

    /// Nothing.
    package static let none = Node.group([])

    /// Text that came from outside: isolated from the direction of what is around it, with what cannot be seen shown.
    package static func untrusted(_ text: String) -> Node {
        Tag.bdi { .group(Unseen.nodes(of: text)) }
    }
}

/// An element with its attributes and its content.
package struct Element: Sendable, Equatable {
    package let tag: Tag
    package let attributes: [Attribute]
    package let content: [Node]
}

/// Puts nodes and texts one after the other.
@resultBuilder
package enum MarkupBuilder {
    package static func buildExpression(_ node: Node) -> [Node] { [node] }
    package static func buildExpression(_ nodes: [Node]) -> [Node] { nodes }
    package static func buildExpression(_ text: String) -> [Node] { [.text(text)] }
    package static func buildBlock(_ parts: [Node]...) -> [Node] { parts.flatMap(\.self) }
    package static func buildOptional(_ part: [Node]?) -> [Node] { part ?? [] }
    package static func buildEither(first part: [Node]) -> [Node] { part }
    package static func buildEither(second part: [Node]) -> [Node] { part }
    package static func buildArray(_ parts: [[Node]]) -> [Node] { parts.flatMap(\.self) }
}
