/// The name of an element of HTML that pages may have. None of them runs or holds a script or a style.
package struct Tag: Sendable, Equatable {
    package let name: String
    /// Whether it has neither content nor an end.
    let isVoid: Bool

    init(_ name: StaticString, isVoid: Bool = false) {
        self.name = "\(name)"
        self.isVoid = isVoid
    }

    package func callAsFunction(_ attributes: Attribute?..., @MarkupBuilder content: () -> [Node]) -> Node {
        .element(Element(tag: self, attributes: attributes.compactMap(\.self), content: content()))
    }

    package func callAsFunction(_ attributes: [Attribute?]) -> Node {
        .element(Element(tag: self, attributes: attributes.compactMap(\.self), content: []))
    }

    package func callAsFunction(_ attributes: Attribute?...) -> Node {
        .element(Element(tag: self, attributes: attributes.compactMap(\.self), content: []))
    }

    package static let a = Tag("a")
    package static let abbr = Tag("abbr")
    package static let article = Tag("article")
    package static let bdi = Tag("bdi")
    package static let body = Tag("body")
    package static let button = Tag("button")
    package static let caption = Tag("caption")
    package static let code = Tag("code")
    package static let dd = Tag("dd")
    package static let details = Tag("details")
    package static let div = Tag("div")
    package static let dl = Tag("dl")
    package static let dt = Tag("dt")
    package static let footer = Tag("footer")
    package static let form = Tag("form")
    package static let h1 = Tag("h1")
    package static let h2 = Tag("h2")
    package static let head = Tag("head")
    package static let header = Tag("header")
    package static let html = Tag("html")
    package static let input = Tag("input", isVoid: true)
    package static let label = Tag("label")
    package static let li = Tag("li")
    package static let link = Tag("link", isVoid: true)
    package static let main = Tag("main")
    package static let meta = Tag("meta", isVoid: true)
    package static let nav = Tag("nav")
    package static let ol = Tag("ol")
    package static let option = Tag("option")
    package static let p = Tag("p")
    package static let pre = Tag("pre")
    package static let progress = Tag("progress")
    package static let search = Tag("search")
    package static let section = Tag("section")
    package static let select = Tag("select")
    package static let small = Tag("small")
    package static let span = Tag("span")
    package static let strong = Tag("strong")
    package static let summary = Tag("summary")
    package static let table = Tag("table")
    package static let tbody = Tag("tbody")
    package static let td = Tag("td")
    package static let th = Tag("th")
    package static let thead = Tag("thead")
    package static let time = Tag("time")
    package static let title = Tag("title")
    package static let textarea = Tag("textarea")
    package static let tr = Tag("tr")
    package static let ul = Tag("ul")
}
