import Base

/// Reads a page as a parser of HTML does, and tells what no page of the console may have.
///
/// It knows every element and attribute that pages are made of: whatever else appears came out of a text.
struct HTMLCheck {
    private static let elements: Set<String> = [
        "html", "head", "meta", "title", "link", "body", "a", "header", "nav", "ul", "ol", "li", "form", "input",
        "button",
        "details", "summary", "div", "p", "main", "footer", "span", "pre", "code", "bdi", "h1", "h2", "section",
        "small",
        "strong", "table", "caption", "thead", "tbody", "tr", "th", "td", "time", "label", "select", "option", "dl",
        "dt",
        "dd", "progress", "abbr", "article", "search", "textarea",
    ]
    private static let attributes: Set<String> = [
        "lang", "charset", "name", "content", "rel", "href", "class", "id", "method", "action", "role", "type", "value",
        "placeholder", "aria-label", "spellcheck", "autocapitalize", "autocomplete", "accesskey", "maxlength",
        "minlength",
        "aria-current", "title", "datetime", "scope", "data-name", "tabindex", "for", "selected", "required", "open",
        "hidden", "aria-describedby", "http-equiv", "max", "rows", "formnovalidate",
    ]

    private let bytes: [UInt8]
    private var place = 0
    private(set) var faults: [String] = []
    /// What the reader sees: texts, and all values but those of fields, which are what was typed.
    private var told: [UInt8] = []

    init(_ page: [UInt8]) {
        bytes = page
        read()
        let unseen = String(decoding: told, as: UTF8.self).unicodeScalars.first { scalar in
            scalar.value == 0 || (0x202A...0x202E).contains(scalar.value) || (0x2066...0x2069).contains(scalar.value)
                || scalar.value == 0xFEFF || (0x200B...0x200F).contains(scalar.value)
        }
        if let unseen { faults.append("U+\(String(unseen.value, radix: 16)) stands in the page") }
    }

    private mutating func read() {
        while place < bytes.count {
            guard bytes[place] == UInt8(ascii: "<") else {
                if bytes[place] == UInt8(ascii: ">") { faults.append("a > outside of an element") }
                told.append(bytes[place])
                place += 1
                continue
            }
            place += 1
            if String(decoding: bytes[place...].prefix(14), as: UTF8.self) == "!DOCTYPE html>" {
                place += 14
                continue
            }
            element()
        }
    }

    private mutating func word() -> String {
        let start = place
        while place < bytes.count, ![0x20, 0x0a, 0x3d, 0x3e, 0x2f].contains(bytes[place]) || place == start {
            if bytes[place] == UInt8(ascii: ">") { break }
            place += 1
        }
        return String(decoding: bytes[start..<place], as: UTF8.self)
    }

    private mutating func element() {
        if place < bytes.count, bytes[place] == UInt8(ascii: "/") { place += 1 }
        let name = word()
        if !HTMLCheck.elements.contains(name) { faults.append("an element \(name.prefix(40))") }
        while place < bytes.count, bytes[place] != UInt8(ascii: ">") {
            guard bytes[place] == 0x20 else {
                faults.append("\(name) has \(String(decoding: bytes[place...].prefix(20), as: UTF8.self))")
                place += 1
                continue
            }
            place += 1
            attribute(of: name)
        }
        place += 1
    }

    private mutating func attribute(of element: String) {
        let name = word()
        if !HTMLCheck.attributes.contains(name) { faults.append("\(element) has an attribute \(name.prefix(40))") }
        guard place < bytes.count, bytes[place] == UInt8(ascii: "=") else { return }
        place += 1
        guard place < bytes.count, bytes[place] == UInt8(ascii: "\"") else {
            faults.append("\(element) has \(name) without quotes")
            return
        }
        let start = place + 1
        let end = bytes[start...].firstIndex(of: UInt8(ascii: "\"")) ?? bytes.count
        let value = String(decoding: bytes[start..<end], as: UTF8.self)
        place = min(bytes.count, end + 1)
        if name != "value" { told += bytes[start..<end] }
        if name == "href" || name == "action", !value.hasPrefix("/") || value.hasPrefix("//"), value != "#main" {
            faults.append("\(element) leads to \(value.prefix(60))")
        }
        if value.contains("<") { faults.append("\(name) of \(element) has a <") }
    }
}
